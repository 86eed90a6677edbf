import type { AlertKind, alertRules } from '@shoal/contract'
import { formatInteger } from '../../../lib/format.ts'

type Threshold = NonNullable<(typeof alertRules)[AlertKind]['threshold']>

/** The unit, as it follows the number in the form. */
export const unitLabels: Record<Threshold['unit'], string> = {
  minutes: 'min',
  blocks: 'blocks',
  ms: 'ms',
  percent: '%',
}

/** Returns the number, or an error message if the text is not a number within the bounds. */
export function parseThreshold(text: string, { min, max }: Threshold): number | string {
  const digits = text.replaceAll(/[\s,]/g, '')
  const value = Number(digits)
  const isValid = /^\d{1,9}$/.test(digits) && value >= min && value <= max
  return isValid ? value : `A whole number from ${formatInteger(min)} to ${formatInteger(max)}`
}
