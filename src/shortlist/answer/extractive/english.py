"""English word lists and patterns for the kinds of things that questions ask for."""

from __future__ import annotations

import re
from functools import lru_cache

from shortlist.index.text.analyzers import stemmer

# What a question is asked with; it says what is wanted and is not looked for.
_ASKING = """
what which who whom whose when where why how many much long far old often did do does was were is are be been being has
have had can could would should may might must will shall i you we he she his her him its our your my me us from about
between during than after before against through over under both each any some all one also so name type kind tell say
give list describe explain please there them themselves himself herself itself that this these those they their too
"""
_FUNCTION_WORDS = """
the a an in on at it its this that these those he she they his her their there when while as after before during for
from with by of to but and or if although however since some many most such both each other one two all no not we i you
"""
_NUMBER_WORDS = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty thirty forty fifty
sixty seventy eighty ninety hundred hundreds thousand thousands million millions billion billions half dozen third
quarter percent once twice none
"""
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth last"
ASKING = frozenset(_ASKING.split())
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
NUMBER_WORDS = frozenset(_NUMBER_WORDS.split())
ORDINALS = frozenset(_ORDINALS.split())

KINDS = {
    "number": re.compile(
        r"\bhow (?:many|much|long|far|old|large|big|tall|high|deep|fast|often|wide|heavy)\b|\bpercent"
        r"|\b(?:what|which) (?:number|amount|fraction|proportion|share|population|price|cost|size|age|rate)\b"
    ),
    "date": re.compile(
        r"\bwhen\b|\b(?:what|which) (?:year|century|date|day|month|decade|time|era|period)\b|\byear\W*$"
    ),
    "who": re.compile(r"\bwho(?:m|se)?\b"),
    "where": re.compile(
        r"\bwhere\b|\b(?:what|which) (?:country|city|state|place|location|region|continent|county|town|river|island)\b"
    ),
    "why": re.compile(r"\bwhy\b|\bwhat (?:caused|causes|cause|reason|led)\b|\bfor what (?:reason|purpose)\b"),
}
DATES = re.compile(
    r"\b(?:1\d{3}|20\d{2})s?\b|\b\d{1,2}(?:st|nd|rd|th)[ -]centur\w+|\b\d{1,2}:\d\d\b|\b\d{4}-\d\d-\d\d\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|\b\d+ (?:days?|weeks?|months?|years?)\b"
)
CAUSES = re.compile(
    r"\b(?:because|since|due to|caus\w+|therefore|thus|in order to|so that|result\w*|led to|leads? to|reason\w*|owing"
    r"|to (?:avoid|prevent|allow|protect|keep|make|ensure|reduce|help)|if|by \w+ing)\b",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:not|never|no|none|neither|nor|without|cannot|unable|except|unlikely|non|rarely|hardly|least)\b|n['’]t\b",
    re.IGNORECASE,
)
NEGATING_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "mis", "anti", "de")

_OPPOSITES = """
first/last before/after largest/smallest largest/least biggest/smallest highest/lowest most/least more/less more/fewer
increase/decrease increase/reduce expand/reduce grow/shrink north/south east/west northern/southern eastern/western
northeast/southwest northwest/southeast maximum/minimum early/late earlier/later earliest/latest begin/end began/ended
start/end start/stop start/finish older/younger oldest/youngest oldest/newest old/new rich/poor wealthy/poor high/low
higher/lower large/small larger/smaller long/short longer/shorter longest/shortest strong/weak stronger/weaker win/lose
strengthen/weaken won/lost male/female man/woman men/women upper/lower inside/outside interior/exterior include/exclude
always/never public/private positive/negative success/failure succeed/fail fast/slow faster/slower fastest/slowest
good/bad better/worse best/worst major/minor majority/minority common/rare possible/impossible legal/illegal
local/foreign domestic/foreign native/foreign natural/artificial internal/external allow/prevent allow/prohibit
permit/forbid accept/reject accept/refuse encourage/discourage support/oppose agree/disagree rise/fall rose/fell
gain/lose buy/sell bought/sold export/import direct/indirect formal/informal constant/variable open/close create/destroy
build/destroy former/latter ancient/modern child/adult cause/prevent active/passive simple/complex easy/difficult
easy/hard cheap/expensive wet/dry hot/cold warm/cool hottest/coldest left/right top/bottom deep/shallow wide/narrow
thick/thin heavy/light light/dark bright/dark day/night winter/summer urban/rural civilian/military married/divorced
born/died birth/death arrive/leave enter/exit enter/leave join/leave forward/backward attack/defend friend/enemy
ally/enemy victory/defeat war/peace guilty/innocent teacher/student employer/employee seller/buyer lender/borrower
king/queen mother/father son/daughter brother/sister husband/wife outer/inner above/below over/under full/empty
real/fake true/false right/wrong safe/dangerous often/rarely frequent/rare many/few same/different enable/disable
install/remove add/remove insert/delete send/receive push/pull lock/unlock encrypt/decrypt upload/download input/output
client/server debit/credit income/expense profit/loss asset/liability ascend/descend horizontal/vertical odd/even
front/back front/rear primary/secondary permanent/temporary voluntary/mandatory optional/required optional/mandatory
"""
_IRREGULAR = """
become became|begin began begun|break broke broken|bring brought|build built|buy bought|catch caught|choose chose chosen
come came|deal dealt|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feel felt
fight fought|find found|fly flew flown|forget forgot forgotten|freeze froze frozen|get got gotten|give gave given
go went gone|grow grew grown|hear heard|hide hid hidden|hold held|keep kept|know knew known|lay laid|lead led|leave left
lend lent|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung|rise rose risen|run ran
say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shoot shot|sing sang sung|sink sank sunk
sit sat|sleep slept|speak spoke spoken|spend spent|stand stood|steal stole stolen|strike struck|swear swore sworn
swim swam swum|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown
understand understood|wake woke woken|wear wore worn|win won|write wrote written|man men|woman women|child children
foot feet|tooth teeth|person people|die death dead|birth born
"""


@lru_cache(maxsize=1)
def opposites() -> dict[str, frozenset[str]]:
    """The stems that say the opposite of a stem."""
    found: dict[str, set[str]] = {}
    for pair in _OPPOSITES.split():
        one, other = map(stemmer().stemWord, pair.split("/"))
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {term: frozenset(others) for term, others in found.items()}


@lru_cache(maxsize=1)
def irregular() -> dict[str, str]:
    """The first form of each word that has irregular ones, all as stems."""
    stem = stemmer().stemWord
    groups = [group.split() for group in _IRREGULAR.strip().replace("\n", "|").split("|")]
    return {stem(form): stem(group[0]) for group in groups for form in group}
