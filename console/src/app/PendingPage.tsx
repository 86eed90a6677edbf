import { useMatch } from '@tanstack/react-router'
import { PageSkeleton } from './layouts/Frame.tsx'

/** The parameters in the path of a page. */
export type RouteParams = Readonly<Partial<Record<string, string>>>

/** A placeholder for a page whose code is loading, with the heading that the page will have. */
export function PendingPage() {
  const { staticData, params } = useMatch({ strict: false })
  const title = typeof staticData.title === 'function' ? staticData.title(params) : staticData.title
  return <PageSkeleton {...(title !== undefined && { title })} />
}
