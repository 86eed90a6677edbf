import { ChainFilters } from '../src/components/chains/ChainFilters.tsx'
import { ChainGrid, ChainGridSkeleton } from '../src/components/chains/ChainGrid.tsx'
import { nameColumn, numberColumn, timeColumn } from '../src/components/data-table/named-columns.tsx'
import { QueryTable } from '../src/components/data-table/QueryTable.tsx'
import { QueryView } from '../src/components/QueryView.tsx'
import { SkeletonRows } from '../src/ui/Skeleton.tsx'
import { Section } from './Section.tsx'

type Secret = { name: string; uses: number; updatedAt: string }

const columns = [
  nameColumn<Secret>('Name', ({ name }) => name),
  numberColumn<Secret>('Used by', ({ uses }) => uses, { hideBelow: 'sm' }),
  timeColumn<Secret>('Updated', ({ updatedAt }) => updatedAt),
]
const idOf = ({ name }: Secret) => name
const empty = { title: 'No secrets', text: 'Secrets are environment variables of squids.' }
const query = (data: readonly Secret[] | undefined, error: Error | null = null) => ({
  data,
  error,
  errorUpdateCount: error ? 1 : 0,
  refetch: () => Promise.resolve(),
})
const hourAgo = new Date(Date.now() - 3_600_000).toISOString()
const secrets: Secret[] = [
  { name: 'RPC_URL', uses: 3, updatedAt: hourAgo },
  { name: 'COINGECKO_KEY_OF_THE_ACCOUNT_THAT_PAYS_FOR_PRICES', uses: 0, updatedAt: hourAgo },
]
const table = { columns, idOf, empty }

const chain = (id: string, title: string, testnet = false) => ({ id, title, iconUrl: null, type: 'evm', testnet })
const chains = [
  chain('ethereum-mainnet', 'Ethereum'),
  chain('arbitrum-sepolia', 'Arbitrum Sepolia', true),
  { ...chain('hyperliquid-fills-of-all-markets', 'Hyperliquid fills of all markets'), type: 'hyperliquidFills' },
]
const filters = {
  search: { text: '', setText: () => {}, deferred: '' },
  selectedTypes: ['evm'],
  toggle: () => {},
}

/** Lists in each state of their query. */
export function Lists() {
  return (
    <>
      <Section title="Lists">
        <QueryTable {...table} label="Secrets" query={{ ...query(secrets), hasNextPage: true }} />
        <QueryTable {...table} label="No secrets" query={query([])} />
        <QueryTable
          {...table}
          label="Secrets that could not be loaded"
          what="The secrets"
          query={query(undefined, new Error('offline'))}
        />
        <QueryTable {...table} label="Loading secrets" query={query(undefined)} loadingRows={2} />
        <QueryView what="The members" query={loading} skeleton={skeleton}>
          {() => null}
        </QueryView>
      </Section>
      <Section title="Chains">
        <ChainFilters filters={filters} label="Find chain" types={['evm', 'substrate']} />
        <ChainGrid label="Chains" items={chains} to="/rpc/chains/$id" search="" detailOf={() => '1.2M requests'} />
        <ChainGrid label="None" items={[]} to="/rpc/chains/$id" search="tron" />
        <ChainGridSkeleton />
      </Section>
    </>
  )
}

const skeleton = <SkeletonRows count={2} />
const loading = { data: undefined, error: null, errorUpdateCount: 0, refetch: () => Promise.resolve() }
