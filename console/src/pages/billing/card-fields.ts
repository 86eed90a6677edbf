export type CardFields = { number: string; expiry: string; cvc: string }

export type Card = { number: string; expMonth: number; expYear: number; cvc: string }

/** What a complete form says; null while something is missing. An expiry is `MM / YY`. */
export function cardOf({ number, expiry, cvc }: CardFields): Card | null {
  const digits = number.replaceAll(/\s/g, '')
  const [, month, year] = /^\s*(\d{1,2})\s*\/\s*(?:20)?(\d{2})\s*$/.exec(expiry) ?? []
  const expMonth = Number(month)
  if (!/^\d{12,19}$/.test(digits) || !(expMonth >= 1 && expMonth <= 12) || !/^\d{3,4}$/.test(cvc.trim())) return null
  return { number: digits, expMonth, expYear: 2000 + Number(year), cvc: cvc.trim() }
}
