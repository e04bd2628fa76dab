"""Storage of several people: in front of any adapter, each person reaches what is theirs."""
