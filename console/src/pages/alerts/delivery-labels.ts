import type { AlertDelivery } from '@shoal/contract'
import { formatRelative } from '../../lib/format.ts'
import type { Tone } from '../../ui/tones.ts'

/** Tone and label of each delivery status. */
export const deliveryAppearance: Record<AlertDelivery['status'], { tone: Tone; label: string; isPulsing: boolean }> = {
  PENDING: { tone: 'info', label: 'Pending', isPulsing: true },
  DELIVERED: { tone: 'good', label: 'Delivered', isPulsing: false },
  FAILED: { tone: 'bad', label: 'Failed', isPulsing: false },
}

/** Display names of the events that messages report. */
export const messageLabels: Record<AlertDelivery['what'], string> = {
  OPENED: 'Alert opened',
  ENDED: 'Alert ended',
  TEST: 'Test message',
}

/** The error message if there is one, otherwise the HTTP status; empty for an email without an error. */
export function responseText({ httpStatus, error }: Pick<AlertDelivery, 'httpStatus' | 'error'>): string {
  return error ?? (httpStatus === null ? '' : `HTTP ${httpStatus}`)
}

/** When the next attempt is. An attempt that is due waits for the next round of the sender, so its time may have passed. */
export const nextAttemptText = (at: string, nowMs: number): string =>
  Date.parse(at) <= nowMs ? 'Next attempt soon' : `Next attempt ${formatRelative(at, nowMs)}`
