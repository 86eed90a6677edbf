import type { AlertKind, alertRules } from '@shoal/contract'
import { formatInteger } from '../../../lib/format.ts'

type Threshold = NonNullable<(typeof alertRules)[AlertKind]['threshold']>

/** How the unit is written after the number. */
export const unitLabels: Record<Threshold['unit'], string> = {
  minutes: 'min',
  blocks: 'blocks',
  ms: 'ms',
  percent: '%',
}

/** The number, or an error message. */
export function readThreshold(text: string, { min, max }: Threshold): number | string {
  const digits = text.replaceAll(/[\s,]/g, '')
  const value = Number(digits)
  const isGood = /^\d{1,9}$/.test(digits) && value >= min && value <= max
  return isGood ? value : `A whole number from ${formatInteger(min)} to ${formatInteger(max)}`
}
