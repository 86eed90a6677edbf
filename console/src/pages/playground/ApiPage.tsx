import type { Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { hasStatus } from '../../api/error-text.ts'
import { versionQuery } from '../../api/version.ts'
import { PageHeader } from '../../components/PageHeader.tsx'
import { QueryView, useShownError } from '../../components/QueryView.tsx'
import { VersionNotFound } from '../../components/squid/VersionNotFound.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'

export type VersionParams = { code: string; reference: string }

type Props = {
  title: string
  version: { squidName: string; squidSlot: string }
  /** A link to the other of the two pages. */
  link: ReactNode
  children: (squid: Squid, params: VersionParams) => ReactNode
}

/** The layout of the two pages about a version's API: the playground and the schema. */
export function ApiPage({ title, version: { squidName, squidSlot }, link, children }: Props) {
  const params = { code: useOrg().code, reference: `${squidName}@${squidSlot}` }
  const query = useQuery(versionQuery(params))
  const [error] = useShownError(query)
  return (
    <>
      <PageHeader
        title={params.reference}
        tab={title}
        heading={title}
        crumbs={[
          <Link key="squids" to="/squids">
            Squids
          </Link>,
          <Link key="version" to="/squids/$squidName/$squidSlot" params={{ squidName, squidSlot }}>
            {params.reference}
          </Link>,
        ]}
        actions={link}
      />
      {hasStatus(error, 404) ? (
        <VersionNotFound reference={params.reference} />
      ) : (
        <QueryView query={query} what="This version" skeleton={<Skeleton className="h-96" />}>
          {(squid) => children(squid, params)}
        </QueryView>
      )}
    </>
  )
}
