import { Outlet, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { hasStatus } from '../../api/error-text.ts'
import { failedFirstOf, useLatestDeployments } from '../../api/failed-firsts.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { toast } from '../../lib/toasts.ts'
import { FailedFirst } from './deployments/FailedFirst.tsx'
import { versionTabs } from './tabs.ts'
import { useVersionParams, useVersionQuery } from './use-version.ts'
import { VersionHeader } from './VersionHeader.tsx'
import { VersionNotFound } from './VersionNotFound.tsx'
import { VersionSkeleton } from './VersionSkeleton.tsx'
import { useCurrentTab, VersionTabs } from './VersionTabs.tsx'

/** Spec 2.9: the frame of all tabs. It asks for the version and keeps it fresh; the tabs read what it has. */
export default function VersionPage() {
  const query = useVersionQuery()
  const isMissing = hasStatus(query.error, 404)
  if (isMissing) return <MissingVersion wasThere={query.data !== undefined} />
  return (
    <QueryView query={query} what="This version" skeleton={<VersionSkeleton />}>
      {(squid) => (
        <>
          <VersionHeader squid={squid} />
          <Tabs tabs={versionTabs(squid)} />
        </>
      )}
    </QueryView>
  )
}

/** It was deleted, its first deployment failed, or it never was. */
function MissingVersion({ wasThere }: { wasThere: boolean }) {
  const { code, reference } = useVersionParams()
  const { data, isPending } = useLatestDeployments(code)
  const failed = data ? failedFirstOf(data, reference) : null
  useLeaveWhenDeleted(wasThere && !isPending && failed === null)
  if (isPending) return <VersionSkeleton />
  if (failed) return <FailedFirst of={failed} />
  return wasThere ? null : <VersionNotFound />
}

function Tabs({ tabs }: { tabs: ReturnType<typeof versionTabs> }) {
  const disabledReason = useCurrentTab(tabs)?.disabledReason ?? null
  return (
    <>
      <VersionTabs tabs={tabs} />
      {disabledReason === null ? <Outlet /> : <EmptyState title="Nothing to show now" text={disabledReason} />}
    </>
  )
}

/** It was here a moment ago: whoever deleted it, there is nothing to come back to. */
function useLeaveWhenDeleted(isGone: boolean): void {
  const navigate = useNavigate()
  const { reference } = useVersionParams()
  useEffect(() => {
    if (!isGone) return
    toast({ tone: 'good', title: `${reference} has been deleted` })
    void navigate({ to: '/squids', replace: true })
  }, [isGone, reference, navigate])
}
