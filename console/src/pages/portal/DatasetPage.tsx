import type { PortalDatasetDetails } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useMemo, type ReactNode } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { hasStatus } from '../../api/error-text.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { q } from '../../api/query.ts'
import { typeLabel } from '../../components/chains/filter-chains.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { SetupGuide } from '../../components/SetupGuide.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'
import { CopyField } from '../../ui/CopyButton.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { datasetRecipes } from './dataset-recipes.ts'
import { isPortalVisible, PortalOnly } from './PortalOnly.tsx'

const datasetQuery = (code: string, id: string) => q('portal.getDataset', { params: { code, id } })

export const prefetch: Prefetch<{ id: string }> = ({ client, org, params }) => {
  if (isPortalVisible(org)) void client.prefetchQuery(datasetQuery(org.code, params.id))
}

/** One dataset: its source, URL and setup guide (spec 2.11, `/portal/chains/{id}`). */
export default function DatasetPage() {
  const { code } = useOrg()
  const id = useParams({ from: '/app/portal/chains/$id', select: (params) => params.id })
  const dataset = useQuery(datasetQuery(code, id))
  const { data } = dataset
  const isMissing = hasStatus(dataset.error, 404)
  const context = data && `${typeLabel(data.type)} · ${data.testnet ? 'testnet' : 'mainnet'} · ${data.id}`
  return (
    <PortalOnly>
      <PageHeader
        title={data?.title ?? id}
        context={context ?? (dataset.isPending && <Skeleton className="my-1 h-3 w-40" />)}
        crumbs={<Link to="/portal/chains">Portal</Link>}
      />
      {isMissing ? (
        <EmptyState
          title="Dataset not found"
          text="The catalogue has no dataset with this name."
          action={
            <Link to="/portal/chains" className={buttonClass()}>
              All datasets
            </Link>
          }
        />
      ) : (
        <QueryView query={dataset} what="The dataset" skeleton={<Skeleton className="h-90 w-full" />}>
          {(details) => <Dataset dataset={details} />}
        </QueryView>
      )}
    </PortalOnly>
  )
}

function Dataset({ dataset }: { dataset: PortalDatasetDetails }) {
  const recipes = useMemo(() => datasetRecipes(dataset), [dataset])
  return (
    <div className="flex flex-col gap-4.5">
      <SourceNote dataset={dataset} />
      <Card title="Portal URL" isPadded>
        <CopyField text={dataset.url} what="Portal URL" isWrapped />
      </Card>
      <SetupGuide recipes={recipes} />
    </div>
  )
}

function SourceNote({ dataset: { source, chain } }: { dataset: PortalDatasetDetails }): ReactNode {
  if (source === 'portal') return null
  if (source === null)
    return (
      <Alert tone="warn" title="This dataset has no source yet">
        The operator of this installation must connect it to a portal or add a node for the chain.
      </Alert>
    )
  return (
    <Alert tone="info" title="Built from the RPC endpoint">
      Blocks, transactions, receipts and logs come from{' '}
      {chain === null ? (
        'the chain'
      ) : (
        <Link to="/rpc/chains/$id" params={{ id: chain }} className="underline">
          {chain}
        </Link>
      )}
      . Traces and state diffs are not available.
    </Alert>
  )
}
