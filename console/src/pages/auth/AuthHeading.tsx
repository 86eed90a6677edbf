import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { PageHeading } from '../../components/PageHeading.tsx'

/** The heading of a sign-in page, and a sentence. */
export function AuthHeading({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <header className="mb-6">
      <PageHeading title={title} />
      {children && <p className="mt-0.5 text-ink-2">{children}</p>}
    </header>
  )
}

/** A sentence about the invitation whose link the visitor has followed, or `otherwise` if there is none. */
export function InvitationText({ otherwise }: { otherwise: string }) {
  const { acceptInviteId, organization } = useSearch({ from: '/guest' })
  return acceptInviteId && organization ? `To accept the invitation to ${organization}.` : otherwise
}

/** The classes of links in the text of sign-in pages. */
export const textLinkClass =
  'rounded-sm text-accent underline decoration-1 underline-offset-3 decoration-current/40 hover:decoration-current'
