import type { SquidSummary } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Pin } from 'lucide-react'
import { useMemo } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { ingressQuery, setVisibleSquids } from '../../api/squids.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { useDeniedReason } from '../../components/access.tsx'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { useSearchText, useUrlSort } from '../../components/data-table/url-state.ts'
import { useSquidActions } from '../../components/squid/use-squid-actions.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { FailedFirstDeployments } from './FailedFirstDeployments.tsx'
import { SquidFilters } from './SquidFilters.tsx'
import { weekOfRequests } from './daily-requests.ts'
import { filterSquids } from './filter-squids.ts'
import { squidColumns } from './squid-columns.tsx'
import { usePins } from './use-pins.tsx'
import { countOf, deployDisabledReason, remainingWarning, remainingSquids, summaryOf } from './squids-left.ts'

const route = getRouteApi('/app/squids')
const noSelection: readonly string[] = []
const nameOf = ({ name }: SquidSummary) => name
const referenceOf = ({ reference }: SquidSummary) => reference

/** The versions grouped by squid. `squids` is undefined while loading. */
export function SquidList({ squids }: { squids: SquidSummary[] | undefined }) {
  const org = useOrg()
  const navigate = useNavigate()
  const { status = noSelection, tag = noSelection } = route.useSearch()
  const { text, deferred, setText } = useSearchText('search')
  const { sort, setSort } = useUrlSort({ column: 'name', order: 'asc' })
  const deniedReason = useDeniedReason('squids.write')
  const actions = useSquidActions()
  const pins = usePins()

  // Loaded after the rows, which must not wait for a free connection.
  const ingress = useQuery({ ...ingressQuery(org.code), enabled: squids !== undefined })
  const columns = useMemo(
    () => squidColumns(ingress.data ? weekOfRequests(ingress.data, ingress.dataUpdatedAt) : null),
    // The query keeps the same object for equal data, so rows render again only when a response differs.
    // oxlint-disable-next-line react/exhaustive-deps
    [ingress.data],
  )
  const filteredSquids = useMemo(
    () => squids && filterSquids(squids, { search: deferred, status, tag }),
    [squids, deferred, status, tag],
  )
  const remaining = squids && remainingSquids(org, squids.length)
  const warning = remaining === undefined ? null : remainingWarning(org, remaining)

  const menuOf = (squid: SquidSummary) => {
    const { copy, restart, hibernate, delete: remove } = actions.actionsOf(squid)
    return {
      label: `Actions for ${squid.reference}`,
      groups: [
        { id: 'copy', actions: [copy, pins.actionOf(squid.name)] },
        { id: 'change', actions: [restart, hibernate, remove] },
      ],
    }
  }
  return (
    <>
      <PageHeader
        title="Squids"
        context={squids && remaining !== undefined ? summaryOf(org, squids, remaining) : 'Loading…'}
        actions={<DeployButton disabledReason={deployDisabledReason(org, remaining ?? 1, deniedReason)} />}
      />
      {warning && (
        <Alert tone="warn" className="mb-4">
          {warning}
        </Alert>
      )}
      {squids && <FailedFirstDeployments squids={squids} />}
      <SquidFilters squids={squids ?? []} text={text} onTextChange={setText} />
      <DataTable
        label="Squids"
        columns={columns}
        rows={filteredSquids}
        idOf={referenceOf}
        sort={sort}
        onSort={setSort}
        groupOf={nameOf}
        firstGroups={pins.names}
        renderGroupHead={(name, versions) => (
          <>
            {pins.isPinned(name) && <Pin size={14} aria-label="Pinned" className="mr-1.5 inline text-accent" />}
            {name} <span className="ml-1 font-normal text-ink-3">{countOf(versions.length, 'version')}</span>
          </>
        )}
        onOpen={({ name, slot }) =>
          void navigate({ to: '/squids/$squidName/$squidSlot', params: { squidName: name, squidSlot: slot } })
        }
        menuOf={menuOf}
        menuDisabledReason={actions.menuDisabledReason}
        onVisible={setVisibleSquids}
        empty={<EmptyState title={emptyTitle(deferred)} text="No version matches the search and the filters." />}
      />
    </>
  )
}

const emptyTitle = (search: string) => (search.trim() === '' ? 'No squids found' : `No squids found: ${search.trim()}`)

function DeployButton({ disabledReason }: { disabledReason: string | null }) {
  if (disabledReason !== null)
    return (
      <Button variant="primary" disabledReason={disabledReason}>
        Deploy squid
      </Button>
    )
  return (
    <Link to="/squids/deploy" className={buttonClass('primary')}>
      Deploy squid
    </Link>
  )
}
