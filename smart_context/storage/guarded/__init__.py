"""Guards in front of any storage of several people: each person reaches only their own things."""
