export type CardFields = { number: string; expiry: string; cvc: string }

export type Card = { number: string; expMonth: number; expYear: number; cvc: string }

/** Parses the form; returns null while a field is missing or invalid. The expiry is `MM / YY`. */
export function parseCard({ number, expiry, cvc }: CardFields): Card | null {
  const digits = number.replaceAll(/\s/g, '')
  const [, month, year] = /^\s*(\d{1,2})\s*\/\s*(?:20)?(\d{2})\s*$/.exec(expiry) ?? []
  const expMonth = Number(month)
  if (!/^\d{12,19}$/.test(digits) || !(expMonth >= 1 && expMonth <= 12) || !/^\d{3,4}$/.test(cvc.trim())) return null
  return { number: digits, expMonth, expYear: 2000 + Number(year), cvc: cvc.trim() }
}

type CardExpiry = { exp_month: number; exp_year: number }

/** A card is valid until the end of its expiry month; `soon` means that it expires within 31 days. */
export function expiryStateOf({ exp_month, exp_year }: CardExpiry, nowMs: number): 'good' | 'soon' | 'expired' {
  const endMs = Date.UTC(exp_year, exp_month)
  if (endMs <= nowMs) return 'expired'
  return endMs - nowMs <= 31 * 86_400_000 ? 'soon' : 'good'
}

/** The expiry as `04/31`. */
export const expiryOf = ({ exp_month, exp_year }: CardExpiry): string =>
  `${String(exp_month).padStart(2, '0')}/${String(exp_year % 100).padStart(2, '0')}`
