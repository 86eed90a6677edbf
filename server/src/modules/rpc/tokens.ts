import { createHash, randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { rpcUrlOf } from './chains.ts'
import { addToken, findToken, notify, orgCodeOf, replaceToken, type TokenRow } from './store.ts'

const tokenPrefix = 'shoal_rpc_'

/** Notified when an organization's token was replaced; the payload is the organization's id. */
export const rpcTokenChannel = 'shoal_rpc_token'

/** The stored form of a token, by which it is looked up. */
export const hashOfRpcToken = (token: string): string => createHash('sha256').update(token).digest('hex')

/** Whether it has the form of our tokens; saves a query for anything else. */
export const looksLikeRpcToken = (token: string): boolean =>
  token.length === tokenPrefix.length + 32 && token.startsWith(tokenPrefix)

export const rpcTokenContext = (orgId: number) => `rpc-token:${orgId}`

function newToken({ sealer, clock }: App, orgId: number): { token: string; row: TokenRow } {
  const token = `${tokenPrefix}${randomBytes(24).toString('base64url')}`
  const sealed = sealer.seal(token, rpcTokenContext(orgId))
  return { token, row: { orgId, hash: hashOfRpcToken(token), sealed, createdAt: clock.now() } }
}

/** The token of the organization's RPC endpoints; created on first use. */
export async function rpcTokenOf(app: App, orgId: number): Promise<string> {
  const row = (await findToken(app.db, orgId)) ?? (await createFirst(app, orgId))
  return app.sealer.open(row.sealed, rpcTokenContext(orgId))
}

/** The existing token; null when there is none yet. */
export async function existingRpcToken(app: Pick<App, 'db' | 'sealer'>, orgId: number): Promise<string | null> {
  const row = await findToken(app.db, orgId)
  return row && app.sealer.open(row.sealed, rpcTokenContext(orgId))
}

async function createFirst(app: App, orgId: number): Promise<TokenRow> {
  await addToken(app.db, newToken(app, orgId).row)
  // Another process may have created one first: the stored one counts.
  const row = await findToken(app.db, orgId)
  if (!row) throw new Error(`The RPC token of organization ${orgId} was not stored`)
  return row
}

/** Replaces the token; gateways that are connected to the database refuse the old one immediately. */
export async function refreshRpcToken(app: App, orgId: number): Promise<string> {
  const { token, row } = newToken(app, orgId)
  await app.db.transaction(async (tx) => {
    await replaceToken(tx, row)
    await notify(tx, rpcTokenChannel, String(orgId))
  })
  return token
}

/** The chain of an endpoint in a manifest: `eth` for `eth.http` and `eth:http`. */
export const rpcChainOf = (endpoint: string): string => endpoint.replace(/[.:]http$/, '')

/** The environment variable with an endpoint's address (contract 4.2): `RPC_ARBITRUM_ONE_HTTP` for `arbitrum-one.http`. */
export const rpcVariableName = (endpoint: string): string =>
  `RPC_${rpcChainOf(endpoint).toUpperCase().replaceAll(/[.:-]/g, '_')}_HTTP`

/**
 * The environment variables of a manifest's rpc addon (contract 4.2): `eth.http` becomes `RPC_ETH_HTTP`, with the URL of the
 * gateway and the organization's token.
 */
export async function rpcVariables(app: App, orgId: number, networks: string[]): Promise<Record<string, string>> {
  if (networks.length === 0) return {}
  const [token, orgCode] = await Promise.all([rpcTokenOf(app, orgId), orgCodeOf(app.db, orgId)])
  return Object.fromEntries(
    networks.map((network) => {
      return [rpcVariableName(network), rpcUrlOf(app.config, orgCode, rpcChainOf(network), token)]
    }),
  )
}
