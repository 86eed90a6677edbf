import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { usePageTitle } from '../../components/use-page-title.ts'

/** The heading of a sign-in page. It also sets the title of the browser tab. */
export function AuthHeading({ title, children }: { title: string; children?: ReactNode }) {
  usePageTitle(title)
  return (
    <header className="mb-6">
      <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
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
