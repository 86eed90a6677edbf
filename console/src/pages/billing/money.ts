import { formatUsd } from '../../lib/format.ts'

/** Of a decimal string, to the cent: `$76.80`. */
export const formatCents = (amountUsd: string | number): string => formatUsd(Math.round(Number(amountUsd) * 100) / 100)
