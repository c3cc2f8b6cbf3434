package tests.starter.money

import data.starter.money
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := money.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_money_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"create_payment: over the limit": {"tool": "create_payment", "arguments": {"amount": 50001, "currency": "usd"}, "rules": {"money.limit"}},
	"create_payment: over the limit, string": {"tool": "create_payment", "arguments": {"amount": "50000.01", "currency": "usd"}, "rules": {"money.limit"}},
	"send_payment: negative": {"tool": "send_payment", "arguments": {"amount": -1, "currency": "eur"}, "rules": {"money.amount"}},
	"transfer: zero": {"tool": "transfer", "arguments": {"amount": 0, "to": "a"}, "rules": {"money.amount"}},
	"transfer: zero, string": {"tool": "transfer", "arguments": {"amount": "0.00", "to": "a"}, "rules": {"money.amount"}},
	"create_payout: currency": {"tool": "create_payout", "arguments": {"amount": 5, "currency": "XXX"}, "rules": {"money.currency"}},
	"create_payout: no currency": {"tool": "create_payout", "arguments": {"amount": 5, "currency": null}, "rules": {"money.currency"}},
	"create_payout: currency not allowed": {"tool": "create_payout", "arguments": {"amount": 5, "currency": "doge"}, "rules": {"money.currency"}},
	"create_refund: no target": {"tool": "create_refund", "arguments": {}, "rules": {"money.target"}},
	"create_refund: two targets": {"tool": "create_refund", "arguments": {"payment_intent": "a", "charge": "b"}, "rules": {"money.target"}},
	"refund_payment: two targets": {"tool": "refund_payment", "arguments": {"order_id": "a", "transaction_id": "b"}, "rules": {"money.target"}},
	"send_crypto: wallet": {"tool": "send_crypto", "arguments": {"to": "0x1111111111111111111111111111111111111111", "amount": "1"}, "rules": {"money.recipient"}},
	"send_message: phone number": {"tool": "send_message", "arguments": {"recipient": "+19999999999", "message": "x"}, "rules": {"money.recipient"}},
	"send_message: phone number, as an id": {"tool": "send_message", "arguments": {"recipient": "19999999999@s.whatsapp.net", "message": "x"}, "rules": {"money.recipient"}},
	"wire_transfer: account": {"tool": "wire_transfer", "arguments": {"iban": "DE89 3704 0044 0532 0130 00", "amount": 1, "currency": "eur"}, "rules": set()},
	"create_transfer: at the limit": {"tool": "create_transfer", "arguments": {"amount": 50000.0, "currency": "USD", "to": "agent-2"}, "rules": set()},
	"create_transfer: a string": {"tool": "create_transfer", "arguments": {"amount": "0.05", "currency": "eur", "to": "agent-2"}, "rules": set()},
	"scroll: not money": {"tool": "scroll", "arguments": {"amount": -3}, "rules": set()},
	"create_refund: one target": {"tool": "create_refund", "arguments": {"charge": "ch_1", "amount": 5}, "rules": set()},
	"create_price: price of nothing": {"tool": "create_price", "arguments": {"unit_amount": 0, "currency": "usd"}, "rules": set()},
}

test_money_2[name] if {
	some name, c in cases_2
	found(c) == c.rules
}

cases_2 := {
	"wire: allowed account": {"tool": "wire", "arguments": {"iban": "DE89370400440532013000", "amount": 5, "currency": "eur"}, "rules": set()},
	"post_entry: amount beside a currency": {"tool": "post_entry", "arguments": {"amount": -5, "currency": "usd"}, "rules": {"money.amount"}},
	"pay: leading zeros": {"tool": "pay", "arguments": {"to": "a", "amount": "000000000050001"}, "rules": {"money.limit"}},
	"exchange_pay: currencies": {"tool": "exchange_pay", "arguments": {"amount": 5, "currencies": ["usd", "xxx"]}, "rules": {"money.currency"}},
	"create_order: id of a price": {"tool": "create_order", "arguments": {"price": "price_1"}, "rules": set()},
	"send_sms: phone number that is allowed": {"tool": "send_sms", "arguments": {"to": "tel:+1 000 000 0002", "text": "x"}, "rules": set()},
	"send_usdc: wallet": {"tool": "send_usdc", "arguments": {"to": "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "amount": "1"}, "rules": {"money.recipient"}},
}
