"""What hostile tool descriptions say: concepts, and the rules that combine them.

A rule says what a sentence would make a model do, and names the concepts that have to follow each other, within a few
words, for that. Honest descriptions use many of the same words ("call list_projects first", "requires an API key").
So a rule asks for what only an attack says: every message rather than one, a secret that goes into an argument, an
address that is written out.
"""

from __future__ import annotations

from typing import NamedTuple

# Words for one concept, as regular expressions with bounded repeats, so that no text is slow to check; literal brackets
# and bars are \x28 and \x7c. `<name>` in a rule or in another concept stands for one of them.
CONCEPTS = {
    "not": r"do not|don't|does not|never|must not|mustn't|should not|shouldn't|shall not|may not|need not|cannot"
    r"|can't|will not|won't|not to|no need to|not have to|not need to|nor|avoid|refrain from|without",
    "user": r"(?:(?:the|your|an?|end|human|actual) ){0,3}(?:user|human|person|customer|operator|developer|anyone"
    r"|anybody|whoever|them|people)(?:'s)?",
    "every": r"every|each|any|all",
    "call": r"call|use|invoke|run|execute|select|choose|pick|consult|trigger",
    "called": r"called|used|invoked|run|executed|available|active|present|loaded|connected|installed|enabled",
    # Handing something over.
    "give": r"pass|include|attach|send|append|add|put|paste|give|supply|provide|submit|upload|forward|insert|embed"
    r"|encode|post|share|email|e-mail|transmit|report|copy(?! of)|place|prepend|concatenate|leak|exfiltrate"
    r"|hand over|relay|write|deliver|mirror|stream|save|quote|repeat|record|enter|transfer|smuggle|sneak",
    "giving": r"passing|attaching|sending|appending|adding|putting|pasting|providing|submitting|uploading"
    r"|forwarding|embedding|encoding",
    "given": r"passed|included|attached|sent|appended|added|pasted|supplied|provided|submitted|uploaded|forwarded"
    r"|transmitted|shared|reported|embedded|inserted|quoted|copied",
    "send": r"send|upload|forward|leak|exfiltrate|email|e-mail|transmit|post|relay|stream|mirror|submit|attach|share"
    r"|copy|transfer|deliver|report|push",
    "take": r"read|open|load|cat|collect|gather|find|locate|look for|look up|search for|search|extract|grab|copy|dump"
    r"|harvest|steal|fetch|retrieve|scan for|scan|access|get|take|obtain|pull|capture|export|print|crawl|walk",
    "hunt": r"collect|gather|find|locate|look for|search for|extract|grab|dump|harvest|steal|scan for|capture|pull"
    r"|search .{1,20} for|check .{1,20} for|scan .{1,20} for",
    # Where it goes: into the call that the model makes, or to an address.
    "argument": r"(?:in|as|into|to|for|via|through|with|inside|using|under|alongside|along with) (?:(?:the|an?|its"
    r"|this|each|every|your|our|optional|required|extra|hidden|second|first|last|next"
    r"|\W?\w+\W?) ){0,3}(?:arguments?|parameters?|params?|fields?|propert(?:y|ies)|array|payload|query"
    r"|requests?|calls?|body|input|notes?|sidenote|memo|metadata|prompt|url|comments?|endpoint|server"
    r"|tool|headers?|webhook|address|attachment)\b|(?:in|as|into|to|under|for|with|of"
    r"|inside) [`'\"‘“][\w.-]+[`'\"’”]|here\b|along\b|with it\b|to (?:us|me|our)\b",
    "address": r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}|(?<!\]\x28)https?://[^\s`'\"]+|\+\d[\d -]{5,}\d"
    r"|[A-Z]{2}\d{2}[ \d]{4,}"
    r"|\d{1,3}(?:\.\d{1,3}){3}|0x[0-9a-f]{6,}|(?:account|iban|wallet|number|address) (?:\w+ )?[\w-]*\d[\w-]*",
    # Secrets.
    "secret_file": r"(?<!\w)\.env\b[\w.*]*|\.ssh\b|id_(?:rsa|ed25519|ecdsa|dsa)|\.aws\b|\.npmrc|\.netrc|\.pypirc"
    r"|\.pgpass|\.git-credentials|\.kube/config|kubeconfig|etc[/_ ](?:passwd|shadow|sudoers)|\.(?:bash"
    r"|zsh)_history|\.gnupg|wallet\.dat|\.docker/config|mcp\.json|claude_desktop_config|\.claude\b"
    r"|\.codex\b|\.cursor\b|\*\.(?:pem|key|p12)|credentials\.json|secrets\.(?:json|ya?ml|toml)"
    r"|keychain|ssh keys?|shell history|private keys?|(?:dot)?env file|password (?:store|manager)"
    r"|browser (?:profile|passwords|cookies)",
    "private_file": r"\.ssh/\S*|id_(?:rsa|ed25519|ecdsa|dsa)|\.aws/credentials|\.git-credentials|\.netrc"
    r"|etc/(?:passwd|shadow)|\.cursor/mcp\.json|claude_desktop_config|wallet\.dat|\.(?:bash"
    r"|zsh)_history|\.gnupg",
    "secrets": r"(?:\w+[ _-])?api[ _-]?keys?|(?:\w+[ _-])?tokens?|credentials?|passwords?|passphrases?|secrets?"
    r"|(?:private|ssh|signing|encryption|secret|access)[ _-]?keys?|(?:seed|recovery"
    r"|mnemonic)[ _-]?phrases?|(?:\w+ )?(?:environment|env)[ _-]?var(?:iable)?s?|(?:\w+ )?cookies?"
    r"|(?:\w+ )?wallets?|credit[ _-]card(?: number)?s?|(?-i:[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*(?:KEY|TOKEN"
    r"|SECRET|PASSWORD)S?)|login details|social security numbers?",
    "found": r"(?:you |we |they )?(?:found|find|stored|see|seen|typed|entered|mentioned|discovered|visible|present"
    r"|available|saved|detected|set|can (?:find|see|access|read)|come across|know)|that (?:the user|they"
    r"|you)|on (?:disk|the|this)|from (?:(?:the|your|this|their|user's|local|current) ){0,3}(?:environment|env"
    r"|config\w*|machine|system|project|git|session|shell|workspace|process)|(?:in|from) (?:(?:the|your|this"
    r"|their|user's|local|current) ){0,3}(?:conversation|chat|memory|context|open|keychain|browser"
    r"|environment variables)",
    # What only the model has.
    "chat": r"(?:chat|conversation|dialog(?:ue)?|session)(?:'s)?[ _-](?:history|logs?|transcripts?|context|contents?)"
    r"|message history|(?:full|entire|complete|whole|current|previous|prior|this|our|ongoing"
    r"|raw) (?:\w+ )?(?:conversation|chat|dialog(?:ue)?|discussion)|(?:conversation|chat|dialog(?:ue)?"
    r"|discussion|messages?) so far|(?:previous|prior|earlier|past|preceding|all|every"
    r"|recent) (?:of the )?(?:\w+ )?messages?|transcript of (?:the|this|our) (?:\w+ )?(?:conversation|chat"
    r"|session|dialog(?:ue)?)|(?:the |all )?conversation between",
    "own": r"(?:your|the (?:model|assistant|agent)'s|its) (?:own )?(?:(?:system|hidden|initial|original|current"
    r"|full) ){1,3}(?:prompt|message|instructions)"
    r"|(?<!to )(?<!in )(?<!into )(?<!from )your (?:own )?(?:\w+ )?(?:memory|memories|context window"
    r"|chain of thought)|(?:model|assistant|agent)'s (?:chain of thought|reasoning|memory|instructions)"
    r"|(?:the |this |current |hidden )?(?:system|hidden|initial|developer)[ _-](?:prompt|message|instructions)"
    r"|(?:everything|whatever|anything|all|what|each thing) (?:that )?(?:the user|they|the human|you"
    r"|the person) (?:has |have |had |ever )?(?:said|says?|wrote|writes?|typed?|asked|told|discussed)"
    r"|<every>(?: of the| of)? (?:\w+ )?messages? (?:that )?(?:the user|they|the human|you|between|exchanged"
    r"|since|from the user)|messages between you and|<every> (?:text|content|messages?|words) (?:above"
    r"|before this)|everything above|(?:conversation|chat|dialog(?:ue)?|discussion) (?:so far"
    r"|with (?:the )?user)|stored in your (?:memory|context)",
    "own_files": r"(?:files?|tabs?|documents?|buffers?) (?:that (?:are|is) )?(?:currently )?open(?:ed)?\b"
    r"|open (?:files?|tabs?|documents?|buffers?|editor)|user's (?:\w+ )?(?:home|directory|folder"
    r"|config\w*|desktop|documents?|downloads|files?|photos|contacts|inbox|e-?mails?|mailbox|clipboard"
    r"|source code|browsing|calendar|address book)|home (?:directory|folder)|browsing history|clipboard"
    r"|(?:results?|outputs?|responses?) of (?:(?:the|all|any|every) ){0,2}(?:\w+ )?other tools?"
    r"|tools (?:that are )?(?:available to you|you have|you can|you know|at your disposal)"
    r"|other tools' (?:results|outputs?)",
    # What the model was told.
    "orders": r"instructions?|directives?|guidelines?|(?:system )?prompts?|system messages?|guardrails?|safeguards?"
    r"|safety (?:rules|checks|measures|protocols?|training|settings|filters)",
    "limits": r"<orders>|rules?|polic(?:y|ies)|restrictions?|constraints?|limitations?|limits|commands?|training"
    r"|programming|context|messages?|conversation",
    "earlier": r"previous|previously|prior|earlier|above|preceding|foregoing|former|past",
    "ignore": r"ignore|disregard|forget|overrule|neglect|set aside|put aside|pay no (?:attention|heed) to|discount"
    r"|stop (?:obeying|following|respecting)|(?:do not|don't|never|no longer|need not) (?:obey|follow|comply with"
    r"|adhere to|listen to|respect|heed)|not (?:bound|limited|restricted) by",
    "undo": r"override|bypass|lift|drop|remove|disable|abandon|discard|circumvent|evade|violate|break|suspend"
    r"|turn off|switch off|escape|erase|delete|deactivate|skip",
    "void": r"no longer (?:appl\w+|valid|in force|binding)|(?:do|does) not apply|(?:are|is) (?:now )?(?:void|null"
    r"|obsolete|outdated|superseded|cancell?ed|suspended|revoked|invalid|irrelevant|lifted)",
    "above_all": r"overrid\w+|supersed\w+|tak\w+ precedence over|outrank\w*|trump\w*|ha(?:s|ve) priority over"
    r"|(?:have|has|with) (?:a )?higher priority than|prevail\w* over",
    # What the model did, and should not speak of.
    "deed": r"(?:that )?you (?:\w+ )?(?:read|did|do|have|are|use|used|call|called|send|sent|need|were|access\w*"
    r"|shar\w+)|this|these|it\b|that (?:this|it|the (?:tool|file|call|data|request|message|content)s?|any|a"
    r"|an|their|files?)|any of this|(?:the |any |an? )?(?:\w+ )?(?:extra|second|additional|hidden|background"
    r"|tool|file|first|other) (?:call|step|request|instructions?|action|access|upload|parameter|argument|use"
    r"|usage|transfer)s?|the (?:call|upload|transfer|sidenote|instructions?|existence|copy|exfiltration"
    r"|forwarding|file access|steps?)|having",
    "tell": r"(?:tell|inform|alert|warn|advise|remind|let)(?:ing|ting)?|notify|notifying",
    "mention": r"(?:mention|reveal|disclos|report|show|say|discuss|explain|acknowledg|expos|announc|admit|display"
    r"|describ)(?:e|ing|s)?|talk(?:ing)? about|refer(?:ring)? to|bring(?:ing)? up",
    "secretly": r"silently|quietly|secretly|covertly|discreetly|stealthily|surreptitiously|clandestinely|in secret"
    r"|invisibly|unnoticed|behind the scenes",
    "consent": r"(?:explicit |further |any |the |their |user |prior ){0,3}(?:permission|confirmation|approval|consent"
    r"|authori[sz]ation|the go-ahead|confirm)",
    # Other tools.
    "tool": r"(?:tool|function|server|action|skill)s?",
    "occasion": r"(?:user |tool |function |new |incoming |single |other ){0,3}(?:calls?(?! (?:to|of|from)\b)|messages?"
    r"|responses?|repl(?:y|ies)|answers?|turns?|prompts?|conversations?|chats?|interactions?|quer(?:y"
    r"|ies)|questions?|tasks?|tools?|requests?|tool uses?|invocations?|sessions?)",
    "other_tool": r"[`'\"]?(?:send|create|write|read|get|delete|update|run|execute|push|transfer|list|search|open|git"
    r"|post|edit|commit|make|call|fetch|browser|mcp|pay|book|file|exec|query|upload|download|publish"
    r"|insert|add|remove|move|copy|submit|deploy|merge|e?mail)(?:[_-][a-z0-9]{1,40}){1,6}[`'\"]?(?: (?:tool"
    r"|function)s?)?|(?:any|all|every|each|whichever|whatever) (?:other )?tools?|(?:an)?other tools?"
    r"|the [`'\"]?[\w-]+[`'\"]? tool|[a-z]+_[a-z_]+ tool|(?:all|every|each|any) (?:outgoing |future "
    r"|sent )?(?:e-?mails?|messages|payments?|transfers?|commits?|invoices?)",
    "change": r"add|append|set|change|replace|insert|include|redirect|send|route|open|overwrite|substitute|swap"
    r"|modify|alter|bcc|cc|copy|forward|put|prepend|pass|deliver|visit|use|go|sent|report|need|paid",
    "target": r"recipients?|payee|beneficiary|destination|account|iban|bcc|cc|reply[-_ ]?to|phone number|address"
    r"|remote|amount|webhook|upstream",
    "when": r"when|whenever|if|once|each time|every time|any time|as soon as|before|after|while"
    r"|for (?:each|every|any|all) (?:calls?|uses?|invocations?) (?:of|to)",
    "decode": r"decod\w+|decrypt\w*|decipher\w*|unscrambl\w+|base ?64|rot-?13|hex(?:adecimal)?|morse|backwards?"
    r"|in reverse|revers\w+|convert\w*|translat\w+",
    "follow": r"do (?:what|as|it|so)|follow|execute|obey|run|carry|comply|act|perform",
}


class Rule(NamedTuple):
    """Concepts in order; `~3` is a gap of at most three words. `unless` is what makes an honest sentence of it."""

    pattern: str
    unless: str = ""


# Output that the tool itself returns, the usual place of a secret or a conversation in an honest description.
_RETURNED = (
    r"\b(?:in|with|as part of|to) (?:the |its |this )?(?:\w+ )?(?:responses?|results?|outputs?|listing|export)\b"
)
_CHOICE = r"\b(?:whether|if true|if set|set to)\b"
_LIMITED = r"\b(?:about|that|where|which|involving|related|regarding|concerning)\b"
_EXAMPLE = r"\b(?:defaults?|e\.g\.|such as|fall(?:s|ing)? back|path (?:to|of))|(?<![\w.@-])examples?(?![\w.])"

RULES = {
    "tells the model to ignore its instructions": (
        Rule(r"<ignore> ~3 <earlier>|your|safety ~3 <limits>"),
        Rule(
            r"<ignore> ~3 system|<every>|other|original|initial|existing|the|these|those ~3 <orders>",
            r"\b(?:of|for) an?\b",
        ),
        Rule(
            r"<ignore> ~3 <limits> ~2 <earlier>|you|from ~2 given|were|have|received|got|developer|operator"
            r"|user|system",
        ),
        Rule(r"<ignore> ~2 everything|anything|whatever|what|all ~6 told|instructed|said|says|learned|given"),
        Rule(r"<ignore> ~1 everything|anything|all|text|messages?|content ~1 above|so far", r"\babove (?:the|a)\b"),
        Rule(r"<undo> ~3 your|safety|system|<every>|<earlier> ~3 <orders>|content polic(?:y|ies)|ethics"),
        Rule(
            r"<undo> ~1 your ~1 limitations?|restrictions?|rules|constraints|content polic(?:y|ies)|training"
            r"|filters?",
        ),
        Rule(r"your|<earlier>|system|you ~3 <orders> ~6 <void>"),
        Rule(r"<limits> ~3 given|you|your ~6 <void>"),
        Rule(
            r"<above_all> ~3 <every>|your|<earlier>|other|system|safety|the ~3 <orders>",
            r"\b(?:of|for) (?:an?|the)\b",
        ),
        Rule(r"<above_all> ~3 it|them|what ~2 system prompt|user|you|developer"),
        Rule(r"treat|regard|consider ~4 as your (?:only|new|sole|highest|main|real)"),
        Rule(r"obey ~2 tool|server|instructions?|text|description|orders?|commands?|it|them|me"),
        Rule(
            r"(?:follow|carry out|comply with|execute|perform) ~1 these|following|steps"
            r" ~8 instead|in their place",
        ),
    ),
    "tells the model to hide something from the user": (
        Rule(
            r"<not> ~1 <tell> <user> ~2 <deed>|that|about|anything|of|know|why|and|but|even|ever|$",
            r"\buser (?:to|until|unless|before|how|what|which|if|when)\b|\b(?:until|unless|before) (?:it|the"
            r"|they|you|this)\b|\bnever without\b"
            r"|\b(?:cannot|can't|unable|not able|don't have|do not have|no access|impossible"
            r"|not possible)\b",
        ),
        Rule(r"without ~1 telling|informing|mentioning|alerting|warning|disclosing|revealing|saying ~3 <user>"),
        Rule(r"without <user> ~2 noticing|knowing|knowledge|aware|told|informed|seeing|realizing|awareness"),
        Rule(
            r"<not> ~2 <mention> (?:to <user> )?(?:anything |details |a word )?(?:about |of )?(?:<deed>|that)",
            r"\b(?:this|these) (?:field|value|id|key|page|result|parameter|endpoint|error|name|url|link|option"
            r"|data)s?\b|\b(?:until|unless|before|whether|twice|again)\b|\b(?:show|display)\w* (?:it"
            r"|this) (?:as|in)\b|\bnot (?:explain|describe|report|show|display) (?:it|this)\b",
        ),
        Rule(r"<not> ~3 <mention> ~8 even (?:if|when) ~3 asked|asks|ask|questioned"),
        Rule(
            r"keep|hide|conceal|withhold|mask ~1 this|it|that|these|them|existence|fact|everything|all|the"
            r" ~6 from <user>",
            r"\b(?:column|field|row|page|element|comment|post|message|item|layer|channel)s?\b",
        ),
        Rule(
            r"secret|hidden|invisible|confidential|unknown|concealed ~0 (?:from|to) <user>",
            r"\b(?:column|field|row|page|element|comment|post|item|layer|channel|if|whether)s?\b",
        ),
        Rule(
            r"keep (?:this|it|that|these) (?:to yourself|between us|quiet)|keep (?:this|that|these"
            r"|the) (?:\w+ )?(?:step|call|instruction|request|action|note|part)s? (?:secret|hidden|confidential"
            r"|private)",
        ),
        Rule(r"(?:do|perform|make|carry out) (?:it|this|so|these|the \w+|that) ~1 <secretly>"),
        Rule(
            r"(?:secretly|covertly|surreptitiously|stealthily|clandestinely)"
            r" ~0 <give>|<call>|<take>|track|monitor|change|modify|delete",
        ),
        Rule(
            r"<user>|they|nobody|no one ~1 must|should|shall|can|need|will|is ~1 not|never"
            r" ~2 know|notice|find out|learn|told|aware|informed|realize|see (?:this|it)|hear",
        ),
        Rule(r"<user>|they ~0 never ~0 finds?(?: out)?|knows?|learns?|notices?|realizes?|sees? (?:this|it|that)"),
        Rule(
            r"omit|leave out|exclude|strip|avoid ~1 references?|mentions?|traces?|signs?"
            r" ~0 (?:to|of) (?:this|it|that|these|your)",
        ),
        Rule(
            r"(?:leave|keep) (?:this|it|that|these|the \w+) out of (?:your|the|any)"
            r" ~1 answer|summary|reply|response|message|report",
        ),
        Rule(r"say nothing (?:about|of|to)"),
        Rule(r"no need to (?:<tell>|mention|bother) ~4 about|this|it|know|that you|user|of"),
    ),
    "tells the model to skip the user's confirmation": (
        Rule(
            r"skip|bypass|circumvent|suppress|dismiss|forgo ~3 <consent>"
            r" ~4 approve|proceed|execute|run|continue|accept|automatically|immediately",
            r"\bif (?:true|set)\b|\bwhether\b",
        ),
        Rule(
            r"<not>|not ~2 ask|asking|prompt|wait|stop|pause|request|seek|require|check|need|have ~6 <consent>"
            r" ~12 even|already|agreed|automatically|trusted|guidelines|anyway|immediately|everything|just",
            r"\b(?:until|unless|if) (?:the|they|true|set)\b",
        ),
        Rule(
            r"(?:do not|don't) (?:need|have to)(?: to)?(?: ask| wait| request| get| obtain)?(?: for)?"
            r" ~1 permission|approval|consent",
        ),
        Rule(
            r"without ~1 (?:waiting|asking|requesting|seeking|needing|consulting|prompting)(?: for)? (?:the "
            r"|their )?(?:user|human|person|owner)",
        ),
        Rule(r"never (?:stop|pause|wait)(?: to| and)? (?:confirm|ask|check)"),
        Rule(
            r"user ~2 agreed|approved|consented|authori[sz]ed|granted|allowed|accepted"
            r" ~1 everything|<every>|whatever|full|unlimited",
        ),
        Rule(r"treat|consider|regard ~0 <every> ~6 as ~1 (?:pre-?)?(?:approved|confirmed|authori[sz]ed)"),
        Rule(
            r"turn on|enable|activate|switch on|set ~2 auto(?:matic)?(?:ally)?[- ]?(?:approv\w*|accept\w*"
            r"|confirm\w*) ~3 <every>",
        ),
        Rule(
            r"grant|approve|accept|allow|confirm ~0 <every> ~1 (?:permission|action|dialog|prompt|warning"
            r"|tool call|request)s? ~1 automatically|$",
        ),
        Rule(
            r"(?:permission|confirmation|security|consent|warning) (?:dialog|prompt|warning|message|request)s?"
            r" ~8 (?:tell|assure|convince|advise|urge|instruct|ask) the (?:user|human)"
            r" ~8 safe|accept|allow|approve|ignore|harmless|click",
        ),
        Rule(r"disable ~2 (?:confirmation|permission|approval|consent) (?:dialog|prompt|check|request)s?"),
    ),
    "gives the model another role": (
        Rule(
            r"you are now (?!able|ready|connected|logged|authenticated|signed|in\b|on\b|using|viewing|free"
            r"|subscribed|registered|at\b|done|required)\w+",
        ),
        Rule(r"you are now in (?:\w+ )?mode"),
        Rule(r"you are no longer (?:an?|the|bound|restricted|limited|required)"),
        Rule(
            r"from (?:now|here|this point|this moment) (?:on|onwards?|forward)"
            r" ~1 you|your|always|never|ignore|obey|treat|respond|answer|every|act|follow|consider|only",
        ),
        Rule(r"you (?:must |should |will |shall |have to )?act as (?:an?|the|if)"),
        Rule(
            r"(?:act|behave|respond|operate|function) as ~1 (?:unrestricted|unfiltered|uncensored|different"
            r"|malicious|evil|jailbroken|privileged|root|system administrator)",
        ),
        Rule(r"(?:assume|adopt|take on|play) the (?:role|persona|character) of an?"),
        Rule(r"pretend (?:that )?you"),
        Rule(r"pretend to be ~1 human|user|admin\w*|unrestricted|developer|operator|evil|assistant"),
        Rule(
            r"your (?:new|real|true|only|actual|sole|secret|hidden|ultimate) (?:goal|objective|task|purpose"
            r"|mission|role|job|identity|owner|master|priority|duty|directive|instructions?) (?:is|are)",
        ),
        Rule(
            r"you ~1 (?:work|act|speak|operate) ~1 (?:for|on behalf of) (?:the |this |our )?(?:owner|server"
            r"|author|attacker|vendor|company)",
        ),
        Rule(r"(?:unrestricted|uncensored|unfiltered|jailbroken) (?:assistant|ai|model|agent|mode|language)"),
        Rule(r"(?:dan|jailbreak|god|unrestricted) mode"),
        Rule(
            r"no|without|free of|free from|any ~0 (?:ethical|moral|safety|content) (?:constraints|rules"
            r"|guidelines|restrictions|limits|boundaries|filters)",
        ),
        Rule(
            r"new (?:system )?(?:instructions?|directives?|orders?|mission|objective) ?(?:for (?:you|the model"
            r"|the assistant))?:",
        ),
    ),
    "asks to be called before or instead of others": (
        Rule(
            r"must|always|have to|has to|need to|should|required|mandatory|first|<call>|<called>"
            r" ~14 before|prior to|ahead of ~2 <every> (?:of the )?(?:other )?(?:tools?|functions?|tool calls?"
            r"|one)",
            r"(?:tools?|functions?|one) (?:of|from|on|in|with|provided by|by) (?:this|the same|our"
            r"|the) (?:\w+ )?(?:server|toolkit|toolset|suite|package|integration|workflow|family|mcp|api)",
        ),
        Rule(
            r"<call>|<called> ~0 (?:this|it|[`'\"]?\w+_\w+[`'\"]?|the \w+ tool)"
            r" ~12 (?:(?:after|before|upon|following|start of|beginning of|end of) <every>|(?:on|for|with|in"
            r"|during) (?:each|every|any))(?: of (?:the|your)| and every)? <occasion>",
            rf"{_LIMITED}|\b(?:requests?|tasks?|quer(?:y|ies)|questions?|calls?|tools?) (?:of|in|to|for|on|with)\b"
            r"|\bto get\b",
        ),
        Rule(
            r"(?:after|before|upon|following|start of|beginning of|end of) (?:each|every|any)(?: of (?:the"
            r"|your)| and every)? (?:user |tool |new ){0,3}(?:calls?|messages?|repl(?:y|ies)|turns?|prompts?"
            r"|conversations?|chats?|interactions?|answers?|responses?) ~4 <call>|send|report|submit"
            r" ~1 (?:this|it|[`'\"]?\w+_\w+)",
            _LIMITED,
        ),
        Rule(
            r"(?:this|it|the tool|the function) (?:must|has to|needs to|should|is to) be <called>"
            r" ~6 (?:each|every|any|all) <occasion>",
            rf"{_LIMITED}|\b(?:requests?|tasks?|quer(?:y|ies)|questions?|calls?|tools?) (?:of|in|to|for|on|with)\b",
        ),
        Rule(
            r"(?:each|every|any) time (?:that )?(?:you|the (?:model|assistant|agent)) (?:use|call|invoke|run"
            r"|respond|reply|answer)s? (?:an?|any|another|to the|the) ~1 tool|function|user",
        ),
        Rule(
            r"(?:whenever|when|if|any ?time) (?:you|the (?:model|assistant|agent)) (?:use|call|invoke"
            r"|run)s? (?:an?|any|another|other|any other) (?:tools?|functions?)"
            r" ~2 also|must|always|first|send|report|pass|include|append",
        ),
        Rule(
            r"(?:never|do not|don't|must not|should not) (?:use|call|choose|pick|select|rely on|trust|invoke)"
            r" ~1 (?:other|another|alternative|different|competing) (?:\w+ )?<tool>"
            r" ~1 even|no matter|regardless|under|ever|again|they|$",
        ),
        Rule(
            r"(?:regardless of|no matter|irrespective of) ~6 tool|user|task|requests?|requested|asked|asks"
            r"|wants|question|prompt|query ~5 <call> ~1 this|me|it",
        ),
        Rule(
            r"must|always|<call> ~8 (?:regardless of|no matter|irrespective of)"
            r" ~3 tool|user|task|requests?|asked|wants|question|prompt|says|context",
        ),
        Rule(
            r"(?:even (?:if|when)) the user (?:asks|requests|says|wants|names|prefers|insists)"
            r" ~6 (?:other|another|different|otherwise|not to|by name)",
        ),
        Rule(
            r"(?:other|built-in|native|standard|default|existing|remaining) (?:\w+ )?(?:\w+ )?<tool>"
            r" ~5 (?:is|are|have been) ~1 (?:deprecated|broken|unsafe|disabled|unavailable|insecure|compromised"
            r"|outdated|malicious|obsolete|unreliable|dangerous|forbidden)",
        ),
        Rule(
            r"route|send|pass|direct|funnel|proxy|forward|redirect|channel ~0 <every>"
            r" ~2 (?:requests?|quer(?:y|ies)|calls?|messages?|prompts?|traffic|commands?|questions?"
            r"|tasks?) (?:through|via|to|by) (?:this|me)",
        ),
        Rule(
            r"(?:any|every|all|each|no) (?:other )?(?:tool|function) (?:calls?|invocations?|uses?)"
            r" ~4 (?:invalid|rejected|ignored|refused|fail|fails|forbidden|valid|allowed|permitted)"
            r" ~1 unless|without|until|before",
        ),
        Rule(
            r"always|must|only ~6 (?:<call>|prefer) this ~8 (?:instead of|over|rather than) (?:all|any|every"
            r"|the) (?:other|built-in|native|alternative) (?:\w+ )?(?:tools?|ones?|functions?|options?|$)",
            r"\b(?:when|for|if)\b",
        ),
    ),
    "says what to do with other tools": (
        Rule(
            r"(?:before|prior to) (?:\w+ing|the use of|you \w+) <every> (?:other )?(?:tools?|functions?"
            r"|tool calls?)",
            r"(?:tools?|functions?) (?:of|on|in|with|provided by|by) (?:this|the same|our"
            r"|the) (?:\w+ )?(?:server|toolkit|toolset|suite|package|integration|workflow|family|mcp|api)",
        ),
        Rule(
            r"<when> ~4 <other_tool> ~12 <change> ~10 <address>|bcc|recipient|payee|1 ?= ?1",
            r"\b(?:e\.g\.|for example|see|docs?)\b",
        ),
        Rule(
            r"<when> ~2 <other_tool> (?:is|are|gets|has been) ~1 (?:used|called|invoked|run|executed)"
            r" ~4 add|append|set|change|replace|insert|redirect|route|overwrite|substitute|swap|modify|alter"
            r"|forward|prepend|enable|disable|also",
        ),
        Rule(r"for (?:each|every|any|all) (?:calls?|uses?|invocations?) (?:of|to) <other_tool> ~3 <change>"),
        Rule(
            r"<other_tool> ~4 (?:must|should|has to|have to|shall|needs? to|need|only works? if|go)"
            r" ~12 <address>|bcc|instead",
            r"\b(?:e\.g\.|for example|see|docs?)\b",
        ),
        Rule(r"<change> ~8 <address>|bcc ~10 <other_tool>", r"\b(?:e\.g\.|for example|see|docs?)\b"),
        Rule(
            r"change|replace|redirect|substitute|swap|rewrite|modify|set|overwrite|alter ~5 <target>"
            r" ~4 (?:to|with|by|as) ~1 <address>",
            r"\b(?:e\.g\.|for example|see|docs?|such as)\b",
        ),
        Rule(
            r"add|include|put|insert|append|bcc|cc|copy ~2 [\w.+-]{1,64}@[\w.-]{1,99} ~5 bcc|cc|recipients?|thread|list"
        ),
        Rule(r"bcc|cc|blind copy ~3 (?:to )?[\w.+-]{1,64}@[\w.-]{1,99}", _EXAMPLE),
        Rule(
            r"(?:whenever|when|every|each|if|all) ~8 (?:writ\w+|generat\w+|creat\w+|edit\w*|commits?|code"
            r"|pages?|files?|projects?) ~10 (?:add|insert|append|include|inject|leave out|omit|disable|remove"
            r"|embed|weaken) ~8 (?:script tag|backdoor|dependency|input validation|validation|security checks?"
            r"|authentication|sanitization|curl|wget|tracking)",
            r"\b(?:whether|if true)\b",
        ),
        Rule(r"effects? on ~3 <other_tool>"),
        Rule(
            r"pass|use|give ~5 as the (?:recipient|payee|destination|beneficiary) (?:to|of|for"
            r"|in) [`'\"]?\w+_\w+",
        ),
    ),
    "points to files with secrets": (
        Rule(r"<take>|reads|opens|<give> ~6 <private_file>", _EXAMPLE),
        Rule(
            r"^(?:the |full |raw |entire |complete |base64 |encoded |plain )*(?:contents?|text|copy|value"
            r"|dump)s? (?:of|from) ~3 <secret_file>",
        ),
        Rule(r"query|fetch|get|read|open|curl|call|request|visit|load ~4 169\.254\.169\.254"),
    ),
    "asks to hand over secrets": (
        Rule(
            r"<give>|<giving> ~4 contents?|everything|values?|text|data|lines|variables|secrets|copy|all"
            r"|files? ~6 <secret_file>",
            _CHOICE,
        ),
        Rule(r"<give> ~2 <secret_file> ~3 <argument>", rf"{_RETURNED}|\b(?:path|location)\b"),
        Rule(
            r"<take> ~6 <secret_file> ~8 (?:pass|include|attach|send|append|paste|supply|submit|upload|forward"
            r"|embed|post|share|email|e-mail|transmit|put|give|provide|encode|leak)",
            rf"{_RETURNED}|\b(?:path|location)\b",
        ),
        Rule(
            r"<give>|<giving> ~6 <every>|user's|users'|their|whatever|other|his|her|found|those ~3 <secrets>"
            r" ~6 <found>|<argument>",
            _RETURNED,
        ),
        Rule(
            r"<take> ~3 <secrets> ~1 from ~3 (?:environment|env|keychain|disk|machine|computer|browser"
            r"|config\w*|memory) ~6 <give>",
            _RETURNED,
        ),
        Rule(r"<send> ~2 <secrets> ~3 to ~1 <address>", _EXAMPLE),
        Rule(
            r"(?:send|forward|leak|exfiltrate|email|e-mail|transmit|post|attach|submit|pass|append|embed)"
            r" ~2 (?:<private_file>|\.env)",
            _EXAMPLE,
        ),
        Rule(
            r"(?:<private_file>|\.env) ~12 https?://\S+",
            r"\b(?:see|docs?|documentation|learn|guide|more|details)\b",
        ),
        Rule(
            r"user's ~4 (?:(?:\w+ )?api keys?|tokens|cookies|secrets|(?-i:[A-Z]+_[A-Z_]+)|environment variables) ~3"
            r" (?:must|should|has to|have to|needs? to|to) be ~1 <given>",
        ),
        Rule(
            r"(?:<secret_file>|<secrets> <found>) ~4 (?:must|should|has to|have to|needs? to|is to|are to) be"
            r" ~1 <given>",
            r"\b(?:not|never|path)\b",
        ),
        Rule(r"<give>|<giving> ~3 <secrets> ~0 <found>", rf"{_RETURNED}|\byour\b"),
        Rule(
            r"<send> ~3 (?:the user's|user's|their|your|<every>)"
            r" ~1 (?:api[ _-]?keys|private keys?|cookies|(?:\w+ )?tokens|secrets|credentials|passwords"
            r"|seed phrases?|environment variables|wallets?)",
            rf"{_RETURNED}|\b(?:header|account|profile|manager|vault|if you)\b",
        ),
        Rule(
            r"<give> ~3 (?:values?|contents?) (?:of|from) ~3 <secrets>|environment ~3 <argument>|<address>|to",
            _RETURNED,
        ),
        Rule(
            r"<give> ~2 your (?:api keys|passwords|secrets|tokens|private keys?) ~3 <argument>",
            r"\b(?:headers?|authorization|requests?|body)\b",
        ),
        Rule(
            r"<hunt> ~4 <secrets>|environment ~8 (?:and|then|to)"
            r" ~1 (?:pass|include|attach|send|append|paste|supply|submit|upload|forward|embed|post|share|email"
            r"|e-mail|transmit|put|give|list|add) (?:it|them|these|the|all|this|each)",
            r"\b(?:response|result|output|returned|dashboard|settings|console|header)\b",
        ),
        Rule(
            r"dump|export|collect|gather|print|capture|serialize ~3 (?:environment|env) ~4 <give>|<argument>",
            _RETURNED,
        ),
        Rule(
            r"run|execute|call|type|use ~0 [`'\"]?(?:printenv|export -p|env[`'\"]|set[`'\"]|history[`'\"]"
            r"|cat [~/.]) ~8 paste|include|pass|put|send|attach|add|submit|give|provide|append|copy",
        ),
        Rule(
            r"query|argument|parameter|field|note|value|input|message|`\w+`"
            r" ~0 (?:must|should|needs? to|has to|shall) ~1 (?:contain|include|be|hold|carry|have|list)"
            r" ~6 <secrets> ~1 <found>",
        ),
        Rule(
            r"^(?:json|list|dump|values?|contents?|copy|all) ~4 (?:environment variables|env vars|secrets"
            r"|credentials|api keys|tokens|passwords) ~2 (?:machine|host|user|computer|secrets)",
        ),
        Rule(
            r"enter|type|confirm|submit|re-enter ~2 (?:password|credentials|pin|card details|card number"
            r"|login) ~3 https?://\S+",
        ),
    ),
    "asks to send the conversation somewhere": (
        Rule(
            r"<give>|<giving>|dump|print|serialize|reproduce|transmit ~6 <own>"
            r" ~10 <argument>|<address>|verbatim|word for word|endpoint|request|$",
            rf"{_RETURNED}|<own> (?:of|for) (?:an?|the)\b",
        ),
        Rule(
            r"<give>|<giving>|dump|record|transmit ~6 <chat> ~8 <argument>|<address>|(?:after|with|on|before"
            r"|for) (?:each|every)",
            _RETURNED,
        ),
        Rule(r"<call> [`'\"]?\w+[`'\"]?(?: tool| function)? with ~6 <chat>|<own>|what they"),
        Rule(r"(?:fill|populate|prefill)(?: \S+){1,4} with|set(?: \S+){1,2} to ~4 <chat>|<own>|<own_files>"),
        Rule(
            r"query|argument|parameter|field|note|value|input|text|property|`\w+`"
            r" ~0 (?:must|should|needs? to|has to|shall) ~1 (?:contain|include|be|hold|carry|have)"
            r" ~6 <chat>|<own>|<own_files>",
        ),
        Rule(
            r"<give>|<giving> ~3 (?:contents?|copy|text|list|results?|outputs?|everything|source|names|all"
            r"|any) ~5 <own_files> ~8 <argument>|<address>|too|with their|$",
            _RETURNED,
        ),
        Rule(r"<send> ~3 <own_files> ~8 <argument>|<address>", _RETURNED),
        Rule(
            r"<chat>|<own> ~4 (?:must|should|has to|have to|needs? to|is to|are to) be ~1 <given>",
            r"\b(?:not|never)\b",
        ),
        Rule(r"needs?|requires?|expects?|wants? ~3 <own>", r"\b(?:of|for) (?:an?|the)\b"),
        Rule(
            r"(?:send|upload|forward|email|e-mail|transmit|copy|mirror|post)"
            r" ~5 (?:contents?|results?|data|responses?|outputs?|files?|text|input|everything|copy|answers?"
            r"|arguments) ~4 to ~1 (?:[\w.+-]{1,64}@[\w.-]{1,99}|(?<!\]\x28)https?://\S+)",
            _EXAMPLE,
        ),
        Rule(
            r"read|open|scan|walk|collect|list|gather|crawl|search|go through ~8 <own_files> ~6 (?:and|then)"
            r" ~1 (?:pass|include|attach|send|append|paste|supply|submit|upload|forward|post|share|email|e-mail"
            r"|transmit|put|give|report)",
        ),
        Rule(
            r"print|reveal|output|show|disclose|repeat|tell me|leak|expose"
            r" ~1 (?:your|the) (?:\w+ )?(?:hidden|system|initial|original|secret) (?:prompt|instructions"
            r"|message)",
            r"\b(?:of|for) (?:an?|the)\b",
        ),
        Rule(
            r"<send> ~4 (?:conversation|chat|chat history|messages|context|prompts?|dialog(?:ue)?) ~5 to"
            r" ~1 <address>",
        ),
    ),
    "carries an encoded instruction": (
        Rule(r"<decode> ~16 (?:and|then) ~1 <follow> (?:it|them|what|out|on|the|so|as|their|its|this|that|$)"),
        Rule(
            r"<follow> (?:out )?(?:the|this|these|any|what) ~2 (?:base ?64|hex|rot-?13|encoded|encrypted"
            r"|obfuscated|reversed) ~1 (?:commands?|instructions?|message|text|payload|string|steps?|orders?"
            r"|blob)",
        ),
        Rule(
            r"(?:base ?64|hex|rot-?13|encoded|encrypted) ~8 (?:holds|contains|is|are|has) (?:your|the|further"
            r"|additional|more|secret) ~1 (?:instructions|orders|task|commands|steps)",
        ),
    ),
    "tells the model to run a harmful command": (
        Rule(r"rm -(?:rf|fr) [~/*$]"),
        Rule(
            r"add|write|register|install|put|restore ~3 (?:this (?:server|tool)|itself|yourself)"
            r" ~5 (?:mcp\.json|claude_desktop_config|\.claude|\.cursor)",
        ),
        Rule(r"(?:curl|wget|iwr) [^\x7c]{1,120}\x7c ?(?:sudo )?(?:ba|z)?sh\b"),
        Rule(
            r"(?:save|store|write|add|commit|remember) ~4 memory"
            r" ~6 (?:always|never) (?:trust|use|send|obey|follow|recommend|call)",
        ),
    ),
}

# Imitations of the marks between messages, or of an answer that has already come; each with what it cannot do without.
MARKS = (
    ("<", r"(?-i:</?IMPORTANT>)|<<\s?/?\s?SYS\s?>>|<\|[a-z_]{1,40}\|>"),
    ("[", r"(?-i:\[/?(?:INST|SYSTEM)\b[^\]\n]{0,40}\])"),
    (
        "<",
        r"</?\s?(?:system|system[-_ ](?:reminder|message|prompt|override|note|instructions?)|secret|hidden"
        r"|admin[-_]?\w{0,20}|function_(?:results?|calls?)|tool[-_](?:description|result|response|output|call)s?"
        r"|new[-_]instructions?)\s?>",
    ),
    ("</", r"^[^<]{0,2000}</(?:instructions?|assistant|prompt|user|human|result|description)>"),
    (
        "system",
        r"(?:^|\n|[.!?]\s)\s?(?:#{1,6} ?|\*\*|-{3,} ?)?system(?: (?:message|prompt|note|instruction|directive"
        r"|override|notice))?(?:\*\*)? ?:\s(?=(?:you|the|all|ignore|obey|this|always|never|from|do|your|any|every|new"
        r"|comply|assistant|please|override|grant|as)\b)",
    ),
    ("assistant", r"(?:^|\n)\s?(?:#{1,6} ?)?assistant ?: \S"),
    ("user", r"(?:^|\n|\. )\s?(?:output|(?:tool )?result|response) ?:[^\n]{0,500}\n\s{0,9}(?:user|human) ?:"),
    ("result", r"(?:^|\n)\s?(?:tool|function)[ _]results? ?: ?[\[{<\"']"),
    ("new instruction", r"#{2,6} ?new instructions?\b"),
    ("end of", r"\bend of (?:tool |the |system )?(?:description|prompt|instructions)\b"),
)

# The classic attacks in other languages: German and Dutch; French; Spanish, Portuguese and Italian; Russian; Polish and
# Turkish; Chinese; Japanese and Korean. Every pattern holds one of these words.
FOREIGN_WORDS = tuple(
    "anweisung instrukt regeln vorgabe befehl systemprompt nutzer anwender werkzeug instructies opdrachten regels"  # noqa: SIM905
    " précéd antérieur ci-dessus consigne utilisateur outil instrucc instruç instruco istruzion reglas regras regole"
    " directrices diretrizes usuari usuár utente herramient ferrament инструкц указани правил команд пользовател"
    " polecenia zasady talimat yönerge komut 指 说明 說明 提示 规则 規則 要求 命令 ルール プロンプト 用户 使用者"
    " ユーザ 工具 지시 명령 지침 규칙 프롬프트 사용자".split()
)
OTHER_LANGUAGES = {
    "tells the model to ignore its instructions": (
        r"\b(?:ignorier\w*|missacht\w*|vergiss|vergesst|vergessen sie|negeer|vergeet)\b.{0,40}\b(?:vorherig|bisherig"
        r"|vorig|früher|obig|deine|ihre|vorangehend|eerdere|alle)\w*\b.{0,30}\b(?:anweisung|instruktion|regel|vorgabe"
        r"|befehl|systemprompt|instructies|opdrachten)",
        r"\b(?:ignor(?:e|ez|er)|oubli(?:e|ez|er)|néglige[zr]?|ne (?:tiens"
        r"|tenez) pas compte)\b.{0,40}\b(?:instructions?|consignes|règles|directives)\b.{0,30}\b(?:précédentes?"
        r"|antérieures?|ci-dessus|initiales?|reçues?|système)",
        r"\b(?:ignor[ae]n?|ignorar|olvid[ae]n?|olvidar|desconsider[ae]r?e?|esque[cç][ae]|esquecer|dimentica(?:te)?"
        r"|ignorate)\b.{0,40}\b(?:instru(?:cciones|ções|coes)|istruzioni|reglas|regras|regole|indicaciones"
        r"|directrices|diretrizes)\b.{0,30}\b(?:anteriores|previas|prévias|precedenti|de arriba|acima|sistema"
        r"|originales|iniciales|dadas)",
        r"(?:игнорир\w*|забудь\w*).{0,40}(?:предыдущ|прежн|ранее|выше|все).{0,40}(?:инструкц|указани|правил|команд)",
        r"\b(?:zignoruj|ignoruj|zapomnij)\b.{0,40}\b(?:poprzednie|wcześniejsze|wszystkie)\b.{0,30}\b(?:instrukcje"
        r"|polecenia|zasady)|\bönceki\b.{0,30}\b(?:talimat|yönerge|komut)\w*.{0,30}(?:yok say|görmezden gel|unut)",
        r"(?:忽略|无视|無視|忘记|忘記|不要理会|不必遵守|不要遵守).{0,12}(?:之前|以前|先前|上述|以上|前面|此前|系统|系統|所有|全部).{0,8}"
        r"(?:指令|指示|说明|說明|提示|规则|規則|要求)",
        r"(?:以前|これまで|前|上記|すべて|全て|システム).{0,8}(?:指示|命令|ルール|プロンプト|指令).{0,12}(?:無視|忘れ|従わない)"
        r"|(?:이전|앞의|위의|모든|기존).{0,10}(?:지시|명령|지침|규칙|프롬프트).{0,10}(?:무시|잊)",
    ),
    "tells the model to hide something from the user": (
        r"\b(?:sag|erzähl|verrat|teil|informier|erwähn|zeig)\w*\b.{0,20}\b(?:benutzer|nutzer"
        r"|anwender)\w*\b.{0,30}\b(?:nicht|kein)|\b(?:benutzer|nutzer|anwender) (?:darf"
        r"|soll) .{0,20}nicht.{0,20}(?:erfahren|wissen|merken)",
        r"\bn(?:e|'en) .{0,8}\b(?:dis|dites|dire|parle[zr]?|révèle[zr]?|mentionne[zr]?|informe[zr]?|préviens"
        r"|prévenez)\b.{0,40}\bl'utilisateur|\bsans (?:le dire|en parler|informer|prévenir|que) .{0,12}l'utilisateur",
        r"\b(?:no|nunca|não|nao|non|sin|sem|senza)\b.{0,12}\b(?:digas?|informes?|menciones?|reveles?|avises?|cuentes"
        r"|conte|mencione|revele|dire|dirlo|informare|menzionare|rivelare|decir|informar|avisar"
        r"|contar)\b.{0,20}\b(?:usuari[oa]|usuário|utente)",
        r"не (?:говори|сообщай|упоминай|рассказывай|показывай)\w*.{0,20}пользовател",
        r"(?:不要|别|不得|切勿|请勿).{0,6}(?:告诉|告知|通知|透露|提及|让).{0,8}(?:用户|使用者)",
        r"ユーザー?に.{0,16}(?:言わない|知らせない|伝えない|教えない|明かさない|話さない)|사용자에게.{0,16}(?:말하지|알리지|언급하지|밝히지)",
    ),
    "asks to be called before or instead of others": (
        r"\b(?:bevor|ehe) du .{0,30}(?:andere|irgendein)\w* (?:werkzeug|tool)|\bavant d'(?:utiliser|appeler) (?:tout"
        r"|n'importe quel) autre outil|\bantes de (?:usar|utilizar|llamar a?) (?:cualquier|qualquer) (?:otra "
        r"|outra )?(?:herramienta|ferramenta)|(?:使用|调用)任何其他工具之?前",
    ),
}
