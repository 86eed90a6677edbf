import type { Squid } from '@shoal/contract'
import { Link, Outlet, useMatches, useNavigate, useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { hasStatus } from '../../api/error-text.ts'
import { failedFirstDeploymentOf, useLatestDeployments } from '../../api/failed-first-deployments.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { prefetchVersion, type VersionPath } from '../../api/version.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { useCurrentTab } from '../../components/NavTabs.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { QueryView, useShownError } from '../../components/QueryView.tsx'
import { VersionNotFound } from '../../components/squid/VersionNotFound.tsx'
import { toast } from '../../lib/toasts.ts'
import { Skeleton, SkeletonRows } from '../../ui/Skeleton.tsx'
import { VersionHeader, VersionName } from './VersionHeader.tsx'
import { VersionTabs } from './VersionTabs.tsx'
import { FailedDeployNotice } from './deployments/FailedDeployNotice.tsx'
import { FailedFirstDeployment } from './deployments/FailedFirstDeployment.tsx'
import { versionTabs } from './tabs.ts'
import { useVersionParams, useVersionQuery } from './use-version.ts'

export const prefetch: Prefetch<VersionPath> = (context) => prefetchVersion(context)

/** The layout of a version's page, which contains the open tab (spec 2.9). It polls the version; the tabs read the version from the cache. */
export default function VersionPage() {
  const query = useVersionQuery()
  const [error] = useShownError(query)
  const isMissing = hasStatus(error, 404)
  if (isMissing) return <MissingVersion wasLoaded={query.data !== undefined} />
  return (
    <>
      {!query.data && <PlainHeader isLoading={!error} />}
      <QueryView query={query} what="This version" skeleton={<VersionSkeleton />}>
        {(squid) => <Version squid={squid} />}
      </QueryView>
    </>
  )
}

/** Shown if the version does not exist: it was deleted, its first deployment failed, or it never existed. */
function MissingVersion({ wasLoaded }: { wasLoaded: boolean }) {
  const { code, reference } = useVersionParams()
  const { data, isPending } = useLatestDeployments(code)
  const failedDeployment = data ? failedFirstDeploymentOf(data, reference) : null
  useRedirectAfterDeletion(wasLoaded && !isPending && failedDeployment === null)
  if (failedDeployment) return <FailedFirstDeployment failedDeployment={failedDeployment} />
  if (wasLoaded && !isPending) return null
  return (
    <>
      <PlainHeader isLoading={isPending} />
      {isPending ? <VersionSkeleton /> : <VersionNotFound reference={reference} />}
    </>
  )
}

function Version({ squid }: { squid: Squid }) {
  const tabs = versionTabs(squid)
  const current = useCurrentTab(tabs)
  const disabledReason = current?.disabledReason ?? null
  const deploymentName = useDeploymentName()
  return (
    <>
      <VersionHeader squid={squid} tab={current?.label ?? deploymentName} />
      <FailedDeployNotice squid={squid} />
      <VersionTabs tabs={tabs} />
      {disabledReason === null ? <Outlet /> : <EmptyState title="Not available now" text={disabledReason} />}
    </>
  )
}

/** The name of the open deployment, or of its changes; undefined on a tab. */
function useDeploymentName(): string | undefined {
  const { deployId } = useParams({ strict: false })
  const areChanges = useMatches({ select: (matches) => matches.at(-1)?.fullPath.endsWith('/changes') })
  if (!deployId) return undefined
  return areChanges ? `Changes of deployment #${deployId}` : `Deployment #${deployId}`
}

/** Leaves the page after a user has deleted the version. */
function useRedirectAfterDeletion(isDeleted: boolean): void {
  const navigate = useNavigate()
  const { reference } = useVersionParams()
  useEffect(() => {
    if (!isDeleted) return
    toast({ tone: 'good', title: `${reference} has been deleted` })
    void navigate({ to: '/squids', replace: true })
  }, [isDeleted, reference, navigate])
}

/** The header of a version that is not loaded, or does not exist. */
function PlainHeader({ isLoading = false }: { isLoading?: boolean }) {
  const { reference } = useVersionParams()
  return (
    <PageHeader
      title={reference}
      crumbs={<Link to="/squids">Squids</Link>}
      heading={<VersionName reference={reference} />}
      context={isLoading && <Skeleton className="my-1 h-3 w-48" />}
    />
  )
}

/** A skeleton of the General tab. */
function VersionSkeleton() {
  return (
    <>
      <Skeleton className="mb-6 h-8 w-full" />
      <SkeletonRows count={7} rowClass="h-11" />
    </>
  )
}
