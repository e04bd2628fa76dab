"""Small dialogue files of each kind, in our own words."""

import json

QUESTIONS = [
    {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "noon",
            "session_2": [{"speaker": "Ada", "dia_id": "D2:1", "text": "The kite flew well."}],
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "I sewed a red kite."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "My boat leaks."},
            ],
        },
        "qa": [
            {"question": "Who sewed a kite?", "evidence": ["D1:1; D2:1"], "answer": "Ada"},
            {"question": "Nothing known", "evidence": [], "answer": "?"},
            {"question": "Points nowhere", "evidence": ["D9:9"]},
        ],
    }
]
SEGMENTS = [
    {
        "dial_id": 7,
        "utterances": [
            "which boat is fast ?",
            "a boat with two hulls .",
            "what does bread need ?",
            "bread needs salt and time .",
        ],
        "segments": [2, 2],
    }
]
FACTS = [
    {
        "number": "1-1",
        "title": "A present",
        "ptkb": {"1": "My aunt loves boats.", "2": "I live in Turku."},
        "turns": [
            {
                "turn_id": 1,
                "utterance": "Which boat would my aunt like?",
                "response": "A small boat with a sail suits an aunt who loves boats.",
                "ptkb_provenance": [1],
            },
            {"turn_id": 2, "utterance": "Where do I buy that boat?", "ptkb_provenance": []},
        ],
    }
]
FOLLOW_UPS = [
    {
        "number": 3,
        "title": "Boats",
        "turn": [
            {"number": 1, "raw_utterance": "Which boat is fast?"},
            {"number": 2, "raw_utterance": "How dear is it?", "query_turn_dependence": [1]},
            {"number": 3, "raw_utterance": "And the other?", "result_turn_dependence": 2},
        ],
    }
]
SUBJECTS = ("boat", "bread", "kite", "piano")
CHAT = {
    "messages": [
        {
            "id": f"{subject}{number}{role[0]}",
            "role": role,
            "content": f"{text} {subject} number {number}",
        }
        for subject in SUBJECTS
        for number in range(5)
        for role, text in (("user", "How do I mend a"), ("assistant", "You mend the"))
    ]
    + [{"id": "late", "role": "assistant", "content": "boa", "generating": True}]
}


def write(path, document):
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


class SubjectEmbedder:
    """A text lies along the subjects that it names."""

    name = "subjects"

    def __init__(self):
        self.asked = []

    async def embed(self, texts):
        import numpy as np  # noqa: PLC0415 -- the command line's tests read this file too

        self.asked += texts
        rows = [[float(s in text.lower()) for s in SUBJECTS] + [0.05] for text in texts]
        rows = np.array(rows, dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
