import { rpcTokenPlaceholder, type RpcChainDetails } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { Suspense, useMemo, type ReactNode } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { hasStatus } from '../../api/error-text.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { onlyIf } from '../../api/query.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { SetupGuide } from '../../components/SetupGuide.tsx'
import { Can, TeamOnly, useDeniedReason } from '../../components/access.tsx'
import { typeLabel } from '../../components/chains/filter-chains.ts'
import { emptyValue, formatInteger } from '../../lib/format.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { Card, Figures } from '../../ui/Card.tsx'
import { CopyField } from '../../ui/CopyButton.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { Upstreams } from './Upstreams.tsx'
import { chainRecipes, webSocketUrlOf } from './chain-recipes.ts'
import { chainQuery, prefetchToken, tokenQuery } from './queries.ts'
import { lazyPart } from '../../lib/lazy.tsx'

const RequestsChart = lazyPart(() => import('./RequestsChart.tsx'))

export const prefetch: Prefetch<{ id: string }> = ({ client, org, params }) => {
  if (org.limits.playground) return
  void client.prefetchQuery(chainQuery(org.code, params.id))
  prefetchToken(client, org)
  void RequestsChart.preload()
}

/** The endpoint of one chain: its URLs, upstreams, requests and setup guide (spec 2.11, `/rpc/chains/{id}`). */
export default function ChainPage() {
  const { code } = useOrg()
  const id = useParams({ from: '/app/rpc/chains/$id', select: (params) => params.id })
  const chain = useQuery(chainQuery(code, id))
  const canReadToken = useDeniedReason('credentials.read') === null
  const token = useQuery(onlyIf(canReadToken, tokenQuery(code)))
  const title = chain.data?.title ?? id
  const skeleton = <Skeleton className="h-90 w-full" />
  return (
    <TeamOnly>
      <PageHeader
        title={title}
        context={!chain.isLoadingError && headerContext(chain.data)}
        crumbs={<Link to="/rpc">RPC endpoints</Link>}
      />
      {hasStatus(chain.error, 404) ? (
        <ChainNotFound />
      ) : (
        <QueryView query={chain} what="The endpoint" skeleton={skeleton}>
          {(data) =>
            // The page waits for the token, since a copied URL without it is useless.
            canReadToken && token.isPending ? (
              skeleton
            ) : (
              <Chain chain={data} token={token.data?.token} fetchedAtMs={chain.dataUpdatedAt} />
            )
          }
        </QueryView>
      )}
    </TeamOnly>
  )
}

function headerContext(chain: RpcChainDetails | undefined): ReactNode {
  if (!chain) return <Skeleton className="my-1 h-3 w-40" />
  return [
    typeLabel(chain.type),
    chain.testnet ? 'testnet' : 'mainnet',
    ...(chain.chainId === null ? [] : [`chain id ${chain.chainId}`]),
  ].join(' · ')
}

type ChainProps = { chain: RpcChainDetails; token: string | undefined; fetchedAtMs: number }

function Chain({ chain, token = rpcTokenPlaceholder, fetchedAtMs }: ChainProps) {
  const tokenUrl = chain.url.replace(rpcTokenPlaceholder, token)
  const { id, type, url, manifestName } = chain
  const recipes = useMemo(
    () => chainRecipes({ id, type, url, manifestName }, tokenUrl),
    [id, type, url, manifestName, tokenUrl],
  )
  return (
    <div className="flex flex-col gap-4.5">
      <Card title="Endpoint" isPadded>
        <div className="grid gap-x-4 gap-y-1 sm:grid-cols-[auto_minmax(0,1fr)] sm:items-center sm:gap-y-2">
          <EndpointUrl label="HTTPS" url={chain.url} copyText={tokenUrl} what="endpoint" />
          <EndpointUrl
            label="WebSocket"
            url={webSocketUrlOf(chain.url)}
            copyText={webSocketUrlOf(tokenUrl)}
            what="WebSocket endpoint"
          />
        </div>
        <p className="mt-2 text-sm text-ink-3">
          <Can permission="credentials.read" otherwise={<>Replace {rpcTokenPlaceholder} with the </>}>
            Copying replaces {rpcTokenPlaceholder} with the{' '}
          </Can>
          <Link to="/rpc/token" className="text-accent underline">
            API token
          </Link>{' '}
          of the organization.{' '}
          {chain.type === 'evm'
            ? 'Subscriptions to new heads and logs use WebSocket.'
            : 'WebSocket accepts calls; subscriptions are not available for this chain.'}
        </p>
      </Card>
      <Card>
        <Figures
          figures={[
            { label: 'Head', value: formatBlock(chain.headBlock) },
            { label: 'Finalized', value: formatBlock(chain.finalizedBlock) },
            { label: 'Requests this month', value: formatInteger(Number(chain.requests)) },
          ]}
        />
      </Card>
      <Upstreams chain={chain} />
      <Suspense fallback={<Skeleton className="h-80 w-full" />}>
        <RequestsChart chain={chain} fetchedAtMs={fetchedAtMs} />
      </Suspense>
      <SetupGuide recipes={recipes} />
    </div>
  )
}

type EndpointUrlProps = { label: string; url: string; copyText: string; what: string }

function EndpointUrl({ label, url, copyText, what }: EndpointUrlProps) {
  return (
    <>
      <span className="text-sm text-ink-2 not-first:mt-1.5 sm:not-first:mt-0">{label}</span>
      <CopyField text={copyText} what={what} shownText={url} isWrapped />
    </>
  )
}

const formatBlock = (block: number | null) => (block === null ? emptyValue : formatInteger(block))

function ChainNotFound() {
  return (
    <EmptyState
      title="Chain not found"
      text="This installation has no endpoint with this name."
      action={
        <Link to="/rpc" className={buttonClass()}>
          All endpoints
        </Link>
      }
    />
  )
}
