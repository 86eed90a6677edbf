import type { AlertEvent } from '@shoal/contract'
import type { ReactNode } from 'react'
import { StatusDot } from './StatusDot.tsx'

type Props = { severity: AlertEvent['severity']; children?: ReactNode }

/** How bad an alert is: its colour, and its word unless there is another. */
export function AlertSeverity({ severity, children }: Props) {
  const isCritical = severity === 'CRITICAL'
  return <StatusDot tone={isCritical ? 'bad' : 'warn'}>{children ?? (isCritical ? 'Critical' : 'Warning')}</StatusDot>
}
