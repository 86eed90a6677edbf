/** The fields of the form, as the user types them. */
export type CardFields = { number: string; expiry: string; cvc: string }

/** A complete card. The number and the code have only digits; the month is 1 to 12, and the year has four digits. */
export type Card = { number: string; expMonth: number; expYear: number; cvc: string }

/** Groups digits as on a card: `4242 4242 4242 4242`. Drops everything else. */
export const formatNumber = (text: string): string =>
  digitsOf(text)
    .slice(0, maxDigits)
    .replaceAll(/(\d{4})(?=\d)/g, '$1 ')

/** Formats an expiry as `12 / 30`. Adds the slash and a leading zero, and accepts a year of four digits. */
export function formatExpiry(text: string): string {
  const digits = digitsOf(text.replace(/^\s*(\d)\s*\//, '0$1/'))
  const padded = /^[2-9]/.test(digits) ? `0${digits}` : digits
  const [month, year] = [padded.slice(0, 2), padded.slice(2)]
  const shownYear = /^20\d\d/.test(year) ? year.slice(2, 4) : /^20\d$/.test(year) ? year : year.slice(0, 2)
  return shownYear === '' ? month : `${month} / ${shownYear}`
}

/** Drops everything but the first four digits. */
export const formatCvc = (text: string): string => digitsOf(text).slice(0, 4)

/** The maximum length of card numbers (ISO/IEC 7812). */
const maxDigits = 19
const digitsOf = (text: string): string => text.replaceAll(/\D/g, '')

/** What is missing or wrong in each field, as a sentence; undefined for a complete field. */
export function cardErrors(fields: CardFields, nowMs: number): { [K in keyof CardFields]: string | undefined } {
  return {
    number: digitsOf(fields.number).length < 12 ? 'Enter all digits of the card number' : undefined,
    expiry: expiryError(digitsOf(formatExpiry(fields.expiry)), nowMs),
    cvc: digitsOf(fields.cvc).length < 3 ? 'Enter 3 or 4 digits' : undefined,
  }
}

function expiryError(digits: string, nowMs: number): string | undefined {
  const month = Number(digits.slice(0, 2))
  if (digits.length !== 4) return 'Enter month and year, as in 04 / 31'
  if (month < 1 || month > 12) return 'Months are 01 to 12'
  const expiry = { exp_month: month, exp_year: 2000 + Number(digits.slice(2)) }
  return expiryStateOf(expiry, nowMs) === 'expired' ? 'The card has expired' : undefined
}

/** Parses the fields; returns null while one is missing or invalid. */
export function parseCard(fields: CardFields, nowMs: number): Card | null {
  if (Object.values(cardErrors(fields, nowMs)).some((error) => error !== undefined)) return null
  const expiry = digitsOf(formatExpiry(fields.expiry))
  return {
    number: digitsOf(fields.number),
    expMonth: Number(expiry.slice(0, 2)),
    expYear: 2000 + Number(expiry.slice(2)),
    cvc: digitsOf(fields.cvc),
  }
}

type CardExpiry = { exp_month: number; exp_year: number }

/** Whether a card has expired or expires soon. It is valid until the end of its expiry month; `soon` means within 31 days. */
export function expiryStateOf({ exp_month, exp_year }: CardExpiry, nowMs: number): 'good' | 'soon' | 'expired' {
  const endMs = Date.UTC(exp_year, exp_month)
  if (endMs <= nowMs) return 'expired'
  return endMs - nowMs <= 31 * 86_400_000 ? 'soon' : 'good'
}

/** The expiry as `04/31`. */
export const expiryOf = ({ exp_month, exp_year }: CardExpiry): string =>
  `${String(exp_month).padStart(2, '0')}/${String(exp_year % 100).padStart(2, '0')}`
