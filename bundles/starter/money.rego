# Money.
#
# Stops, in tools that move money: amounts that are not positive plain decimal numbers,
# also as strings; amounts over settings.money.max_amount; currencies that aren't one,
# or aren't in settings.money.currencies; a refund of nothing or of two things; once
# settings.recipients.allow is filled in, payments and messages to other phone numbers,
# wallets and accounts.
#
# Doesn't stop: many small payments; a price that is wrong but within the limit.
#
# Incidents: https://github.com/GenAI-Security-Project/finbot-ctf/issues/331, /334 and
# /338 (limit, zero, currency), https://github.com/Conway-Research/automaton/pull/136
# (negative and string amounts), https://github.com/xorbitsai/xagent/pull/1462 (two
# targets), https://github.com/microchipgnu/MCPay/issues/31 (recipient).
package starter.money

import data.starter.lib
import rego.v2

deny contains f if {
	relevant
	some f in findings
	lib.mode(f.rule) == "deny"
}

warn contains f if {
	lib.warns
	relevant
	some f in findings
	lib.mode(f.rule) == "warn"
}

# Most calls have nothing to do with this.
relevant if money_or_currency

relevant if count(lib.tool_words & {"refund", "refunds", "chargeback"}) > 0

relevant if count(data.settings.recipients.allow) > 0

moves_money if {
	not lib.tool_reads
	count(lib.tool_words & {
		"pay", "pays", "payment", "payments", "payout", "payouts", "transfer", "transfers", "refund", "refunds", "charge", "charges", "withdraw", "withdrawal",
		"deposit", "wire", "remit", "remittance", "purchase", "buy", "sell", "donate", "tip", "checkout", "trade", "swap", "stake", "disburse", "topup",
		"invoice", "credit", "credits", "fund", "funds", "loan", "wallet", "crypto", "token", "tokens", "order", "money", "cash", "usdc", "usdt", "btc", "eth", "sol", "coin", "coins", "salary", "bonus", "bill",
	}) > 0
}

# An amount beside a currency is money whatever the tool is called.
amounts contains [array.concat(at, [name, member]), value] if {
	money_or_currency
	some name in amount_names
	some [at, o] in lib.objects
	some member, value in o[name]
	member in {"value", "amount", "total", "units"}
	not is_object(value)
}

amounts contains [array.concat(at, [name]), value] if {
	moves_money
	some name in amount_names
	regex.match(`(?i)^amount$`, name)
	some [at, o] in lib.objects
	value := o[name]
	is_array(value)
}

amounts contains [array.concat(at, [name]), value] if {
	money_or_currency
	some name in amount_names
	some [at, o] in lib.objects
	moves_or_says_currency(o)
	value := o[name]
	not is_object(value)
	not is_array(value)
	not identifier(value)
}

money_or_currency if moves_money

money_or_currency if count(currency_names) > 0

# The id of a price is no amount.
identifier(value) if {
	is_string(value)
	regex.match(`^[A-Za-z]+_[A-Za-z0-9_]+$`, value)
}

moves_or_says_currency(_) if moves_money

moves_or_says_currency(o) if {
	not lib.tool_reads
	count(object.keys(o) & currency_names) > 0
}

amount_names := {name | regex.match(`amount|price|total|sum|cents|quantity|qty|units|shares|credits`, lib.name_text); some name, _ in lib.kinds; regex.match(`(?i)(^|_)(amount|amounts|price|total|sum|cents|quantity|qty|units|shares|credits)(_|$)|[a-z](Amount|Price|Total|Quantity|Cents)`, name)}

currency_names := {name | regex.match(`curr|ccy`, lib.name_text); some name, _ in lib.kinds; regex.match(`(?i)^(.*_)?(currency|currency_?code|ccy|currencies)$|Currency(Code)?$`, name)}

findings contains lib.about("money.amount", at, "the amount is not a positive plain decimal number") if {
	some [at, value] in amounts
	not positive(value)
	not free_of_charge(value)
}

# A price of nothing is one, where nothing is paid.
free_of_charge(value) if {
	not moves_money
	value in {0, "0", "0.0", "0.00"}
}

positive(value) if {
	is_number(value)
	value > 0
}

positive(value) if {
	is_string(value)
	regex.match(`^[0-9]{1,15}(\.[0-9]{1,18})?$`, value)
	regex.match(`[1-9]`, value)
}

findings contains lib.about("money.limit", at, "the amount is over settings.money.max_amount") if {
	data.settings.money.max_amount > 0
	some [at, value] in amounts
	positive(value)
	number(value) > data.settings.money.max_amount
}

number(value) := value if is_number(value)

# A leading zero is not part of a number in JSON.
number(value) := to_number(regex.replace(value, `^0+([0-9])`, "$1")) if is_string(value)

findings contains lib.about("money.currency", array.concat(at, [name]), "the currency is not one that is allowed: settings.money.currencies") if {
	moves_money
	some name in currency_names
	some [at, o] in lib.objects
	some value in as_list(o[name])
	not currency(value)
}

as_list(x) := x if is_array(x)

as_list(x) := [x] if not is_array(x)

currency(value) if {
	is_string(value)
	regex.match(`^[A-Za-z]{3,5}$`, value)
	count(data.settings.money.currencies) == 0
}

currency(value) if {
	is_string(value)
	lower(value) in {lower(c) | some c in data.settings.money.currencies}
}

findings contains lib.about("money.target", [], "a refund names the payment that it gives back") if {
	refunds
	count(targets) == 0
}

findings contains lib.about("money.target", [], "a refund names one payment that it gives back, not two") if {
	refunds
	count(targets & {"charge", "payment", "payment_intent", "paymentintent", "transaction", "capture", "sale", "order"}) > 1
}

refunds if {
	not lib.tool_reads
	count(lib.tool_words & {"refund", "refunds", "chargeback"}) > 0
	count(lib.tool_words & {"search", "history", "policy", "reason", "status"}) == 0
}

# What a refund can name. The same thing by id and by number is one thing.
targets contains regex.replace(lower(name), `[_-]?(id|number|no|ref|reference|token)$`, "") if {
	some name, value in input.arguments
	regex.match(`(?i)^(original_?)?(charge|payment|payment_?intent|transaction|order|invoice|capture|sale|purchase|booking|refund|line_?item|subscription)([_-]?(id|number|no|ref|reference))?$`, name)
	not value in {null, ""}
}

findings contains lib.finding("money.recipient", e, "the recipient is none of settings.recipients.allow") if {
	count(data.settings.recipients.allow) > 0
	not lib.tool_reads
	count(lib.tool_words & {"send", "call", "dial", "sms", "text", "message", "whatsapp", "pay", "payment", "payout", "transfer", "withdraw", "wire", "refund", "deposit", "swap", "bridge", "approve", "reply", "forward"}) > 0
	some e in lib.entries
	e.kind in {"address", "id"}
	some r in [account(e.value)]
	not r in {account(a) | some a in data.settings.recipients.allow}
}

# Wallets of other kinds are told by who they are for.
findings contains lib.finding("money.recipient", e, "the recipient is none of settings.recipients.allow") if {
	count(data.settings.recipients.allow) > 0
	moves_money
	some e in lib.entries
	e.kind == "address"
	regex.match(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`, e.value)
	not e.value in data.settings.recipients.allow
}

# account is a phone number, wallet or bank account without what differs in spelling;
# it is undefined for anything else.
account(s) := lower(s) if {
	regex.match(`^(0x[0-9a-fA-F]{40}|bc1[a-z0-9]{20,80}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|T[1-9A-HJ-NP-Za-km-z]{33})$`, s)
} else := upper(regex.replace(s, `[\s-]`, "")) if {
	regex.match(`^[A-Z]{2}[0-9]{2}([\s-]?[A-Z0-9]{2,4}){3,8}$`, upper(s))
} else := trim_left(regex.replace(s, `@.*$|^(tel|sms|whatsapp):|[^0-9+@]`, ""), "+0") if {
	regex.match(`([0-9][\s().-]*){7}`, s)
	regex.match(`^(tel:|sms:|whatsapp:)?\+?[(0-9][0-9\s().-]{6,20}(@(s\.whatsapp\.net|c\.us))?$`, s)
}
