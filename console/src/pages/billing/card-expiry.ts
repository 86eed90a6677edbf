type Card = { exp_month: number; exp_year: number }

/** A card is good to the end of its month. `soon`: it ends within a month. */
export function expiryStateOf({ exp_month, exp_year }: Card, nowMs: number): 'good' | 'soon' | 'expired' {
  const endMs = Date.UTC(exp_year, exp_month)
  if (endMs <= nowMs) return 'expired'
  return endMs - nowMs <= 31 * 86_400_000 ? 'soon' : 'good'
}

/** `04/31` */
export const expiryOf = ({ exp_month, exp_year }: Card): string =>
  `${String(exp_month).padStart(2, '0')}/${String(exp_year % 100).padStart(2, '0')}`
