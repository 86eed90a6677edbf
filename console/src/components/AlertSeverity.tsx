import type { AlertEvent } from '@shoal/contract'
import type { ReactNode } from 'react'
import { StatusDot } from './StatusDot.tsx'

type Props = { severity: AlertEvent['severity']; children?: ReactNode }

/** The severity of an alert as a coloured dot, and `children` or the name of the severity as the text. */
export function AlertSeverity({ severity, children }: Props) {
  const isCritical = severity === 'CRITICAL'
  return <StatusDot tone={isCritical ? 'bad' : 'warn'}>{children ?? (isCritical ? 'Critical' : 'Warning')}</StatusDot>
}
