import pytest

from smart_context.topics.naming.acceptance import whole_phrase


@pytest.mark.parametrize(
    ("part", "texts", "whole"),
    [
        pytest.param(
            "京世纪金源大",
            ["住北京世纪金源大饭店", "北京世纪金源大饭店的电话"],
            "北京世纪金源大饭店",
            id="a name has the same neighbours wherever it is said",
        ),
        pytest.param("酒店", ["高档酒店", "酒店电话"], "酒店", id="a word has several neighbours"),
        pytest.param("烤鸭", ["想吃烤鸭", "想吃烤鸭"], "烤鸭", id="verbs stay outside"),
        pytest.param("评分", ["这家评分", "这家评分"], "评分", id="measure words stay outside"),
        pytest.param("酒店", ["找一家高档酒店住宿"], "酒店", id="once is no evidence"),
        pytest.param("有会", ["酒店有会议室", "有会议室吗"], "", id="no name begins with a verb"),
        pytest.param(
            "医療費", ["医療費控除は", "医療費控除を"], "医療費控除", id="Japanese compounds"
        ),
        pytest.param("単語", ["単語を覚える", "単語を書く"], "単語", id="Japanese particles"),
        pytest.param("カップヌ", ["カップヌードルの話"], "カップヌードル", id="loan words"),
        pytest.param("heat pump", ["a heat pump is", "a heat pump is"], "heat pump", id="spaces"),
        pytest.param("です", ["本です"], "", id="nothing is left"),
    ],
)
def test_a_phrase_is_cut_or_extended_to_whole_words(part, texts, whole):
    assert whole_phrase(part, texts) == whole


def test_a_sentence_that_is_said_twice_is_no_word():
    long = "海淀区中关村南大街国家图书馆北侧停车场入口"
    assert whole_phrase("国家图书馆", [long, long]) == "国家图书馆"
