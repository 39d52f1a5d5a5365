"""Claims in other languages than English, and in others than what they cite."""

from __future__ import annotations

import pytest

from shortlist import ScriptedLLM, ask
from shortlist.answer.claims.assessment import Assessment, Statement, assess
from shortlist.answer.claims.other_languages import check_claim, find_languages
from shortlist.results import Evidence

GERMAN = (
    "Beschäftigte haben 25 Tage Urlaub im Jahr. Die Lieferung kostet 4,50 Euro und dauert drei Werktage. "
    "Sonntags ist das Büro in Leeds nicht geöffnet. Ines Halloran gründete die Firma 2014."
)
RUSSIAN = "Компания была основана в 2014 году в Москве. Сотрудники имеют 25 дней отпуска и 1,5 миллиона рублей."
CHINESE = "该公司由王伟于2014年在上海创立。员工每年有25天年假。周日不营业。"
ARABIC = "تأسست الشركة في عام 2014 في دبي. يحصل الموظفون على ٢٥ يوما من الإجازة."
FRENCH = "L'entreprise a été fondée en 2014 à Lyon. La livraison coûte 4,50 €."
ENGLISH = "Staff have 25 days of leave a year. Delivery is free."


def show(passage: str) -> Evidence:
    return Evidence(1, "a.txt", "a.txt", "whole", passage, 1.0, name="Guide")


def assess_text(claim: str, passage: str) -> Assessment:
    return assess(Statement(claim, (show(passage),)), lambda *_: pytest.fail("The model does not know this language."))


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        (GERMAN, "Der Urlaub der Beschäftigten beträgt 25 Tage im Jahr."),
        (GERMAN, "Die Firma wurde 2014 von Ines Halloran gegründet."),
        (GERMAN, "Das Büro in Leeds ist sonntags nicht geöffnet."),
        (RUSSIAN, "Компанию основали в Москве в 2014 году."),
        (RUSSIAN, "У сотрудников 25 дней отпуска."),
        (CHINESE, "王伟在2014年创立了该公司。"),
        (ARABIC, "تأسست الشركة في دبي عام 2014."),
        (ARABIC, "يحصل الموظفون على 25 يوما من الإجازة سنويا."),
        (FRENCH, "Fondée en 2014, l'entreprise se trouve à Lyon."),
    ],
)
def test_a_claim_in_the_language_of_its_passage_is_supported(passage: str, claim: str) -> None:
    assert assess_text(claim, passage).support == "supported"


@pytest.mark.parametrize(
    ("passage", "claim", "missing"),
    [
        (GERMAN, "Der Urlaub der Beschäftigten beträgt 30 Tage im Jahr.", "30"),
        (GERMAN, "Der Urlaub der Beschäftigten beträgt 25 Wochen.", "25"),
        (GERMAN, "Die Firma wurde 2014 nicht von Ines Halloran gegründet.", "nicht"),
        (GERMAN, "Das Büro in Leeds ist sonntags geöffnet.", "nicht"),
        (GERMAN, "Nur Ines Halloran gründete die Firma.", "nur"),
        (RUSSIAN, "Компания была основана в Киеве.", "Киеве"),
        (CHINESE, "员工每年有30天年假。", "30"),
        (ARABIC, "يحصل الموظفون على 30 يوما من الإجازة.", "30"),
        (FRENCH, "L'entreprise a été fondée à Paris en 2014.", "Paris"),
        (FRENCH, "Le livreur dit « gratuit ».", "gratuit"),
    ],
)
def test_what_a_passage_in_the_same_language_does_not_say_is_unsupported(
    passage: str, claim: str, missing: str
) -> None:
    found = assess_text(claim, passage)
    assert (found.support, found.missing) == ("unsupported", missing)


def test_words_that_a_passage_lacks_are_named() -> None:
    found = assess_text("公司总部在北京，主要生产汽车。", CHINESE)
    assert (found.support, "北京" in found.missing) == ("unsupported", True)


def test_a_repeated_sentence_is_quoted_unless_it_is_denied() -> None:
    assert assess_text("Beschäftigte haben 25 Tage Urlaub im Jahr.", GERMAN).support == "quoted"
    assert assess_text("员工每年有25天年假。", CHINESE).support == "quoted"


@pytest.mark.parametrize(
    ("passage", "claim", "support"),
    [
        (ENGLISH, "Die Lieferung ist für alle kostenlos.", "unchecked"),
        (ENGLISH, "Der Urlaub ist nicht länger als 30 Tage.", "unsupported"),
        (ENGLISH, "员工每年有25天年假。", "unchecked"),
        (ENGLISH, "员工每年有30天年假。", "unsupported"),
        (GERMAN, "The staff have 25 days of leave in a year.", "unchecked"),
        (GERMAN, "The staff have 30 days of leave in a year.", "unsupported"),
    ],
)
def test_a_claim_in_another_language_is_unchecked_unless_a_number_is_wrong(
    passage: str, claim: str, support: str
) -> None:
    found = assess_text(claim, passage)
    assert (found.support, bool(found.reason)) == (support, True)


def test_the_reason_names_both_languages() -> None:
    claim, cited = "Die Lieferung ist für alle kostenlos.", (show(ENGLISH),)
    found = check_claim(claim, cited, "", find_languages(claim, cited))
    assert "German" in found.reason
    assert "English" in found.reason


def test_an_answer_tells_that_a_sentence_is_unchecked() -> None:
    reply = "Die Lieferung ist für alle kostenlos. [0:whole]"
    answer = ask([ENGLISH], "Is delivery free?", ScriptedLLM(reply))
    assert [claim.support for claim in answer.sentences] == ["unchecked"]
    assert "could not be checked" in answer.reason
