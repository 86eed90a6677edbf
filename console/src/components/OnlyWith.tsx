import type { Permission } from '@shoal/contract'
import type { ReactNode } from 'react'
import { EmptyState } from './EmptyState.tsx'
import { useWhyNot } from './Can.tsx'

type Props = { permission: Permission; title: string; action: ReactNode; children: ReactNode }

/** A page for who may; the others read why it is not for them, and where to go on. */
export function OnlyWith({ permission, title, action, children }: Props) {
  const reason = useWhyNot(permission)
  return reason === null ? <>{children}</> : <EmptyState title={title} text={reason} action={action} />
}
