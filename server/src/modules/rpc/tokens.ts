import { rpcTokenPlaceholder } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { gatewayRootOf, type Config } from '../../config/config.ts'
import { notify } from '../../db/notifications.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { addToken, findTokens, orgCodeOf, replaceToken, type TokenRow } from './store.ts'

const tokenPrefix = 'shoal_rpc_'

/** The channel that is notified, with the id of the organization, when its token is replaced. */
export const rpcTokenChannel = 'shoal_rpc_token'

/** Whether the text has the form of an RPC token. Callers need not search the database for other texts. */
export const looksLikeRpcToken = (token: string): boolean =>
  token.length === tokenPrefix.length + 32 && token.startsWith(tokenPrefix)

/** The context that binds a sealed token to its organization: for another organization the token cannot be decrypted. */
export const rpcTokenContext = (orgId: number) => `rpc-token:${orgId}`

function newToken({ sealer, clock }: App, orgId: number): { token: string; row: TokenRow } {
  const token = `${tokenPrefix}${randomBytes(24).toString('base64url')}`
  const sealed = sealer.seal(token, rpcTokenContext(orgId))
  return { token, row: { orgId, hash: hashSecret(token), sealed, createdAt: clock.now() } }
}

/** Returns the organization's RPC token; creates it on first use. */
export async function rpcTokenOf(app: App, orgId: number): Promise<string> {
  const [existing] = await findTokens(app.db, [orgId])
  const row = existing ?? (await createToken(app, orgId))
  return app.sealer.open(row.sealed, rpcTokenContext(orgId))
}

/** Returns the RPC tokens of organizations; those without one are omitted. */
export async function existingRpcTokens(
  app: Pick<App, 'db' | 'sealer'>,
  orgIds: number[],
): Promise<{ orgId: number; token: string }[]> {
  const rows = await findTokens(app.db, orgIds)
  return rows.map(({ orgId, sealed }) => ({ orgId, token: app.sealer.open(sealed, rpcTokenContext(orgId)) }))
}

async function createToken(app: App, orgId: number): Promise<TokenRow> {
  await addToken(app.db, newToken(app, orgId).row)
  // Another process may have stored a token first.
  const [row] = await findTokens(app.db, [orgId])
  if (!row) throw new Error(`The RPC token of organization ${orgId} was not stored`)
  return row
}

/** Replaces the token and returns the new one. Gateways that are connected to the database reject the old one immediately. */
export async function replaceRpcToken(app: App, orgId: number): Promise<string> {
  const { token, row } = newToken(app, orgId)
  await app.db.transaction(async (tx) => {
    await replaceToken(tx, row)
    await notify(tx, rpcTokenChannel, String(orgId))
  })
  return token
}

/** Returns the id of the chain of an endpoint in a manifest: `eth` for `eth.http` and `eth:http`. */
export const rpcChainOf = (endpoint: string): string => endpoint.replace(/[.:]http$/, '')

/** Returns the RPC URL of a chain, by default with the token's placeholder (spec 2.11). */
export function rpcUrlOf(config: Config, orgCode: string, chain: string, token: string = rpcTokenPlaceholder): string {
  return `${gatewayRootOf(config, orgCode)}/rpc/${chain}/${token}`
}

/** Matches the URLs of `rpcUrlOf` that contain a token. */
const rpcUrlPattern = new RegExp(`/rpc/([a-z0-9-]{1,64})/${tokenPrefix}`)

/** Returns the chain of an RPC URL of this gateway that is in `text`; null if there is none. */
export const chainOfRpcUrl = (text: string): string | null => rpcUrlPattern.exec(text)?.[1] ?? null

/**
 * Returns the name of the environment variable that contains the URL of an endpoint: `RPC_ARBITRUM_ONE_HTTP` for
 * `arbitrum-one.http`.
 */
export const rpcVariableName = (endpoint: string): string =>
  `RPC_${rpcChainOf(endpoint).toUpperCase().replaceAll(/[.:-]/g, '_')}_HTTP`

/**
 * Returns the environment variables of a manifest's rpc addon: `eth.http` becomes `RPC_ETH_HTTP`, with the gateway's URL and the
 * organization's token.
 */
export async function rpcVariables(app: App, orgId: number, endpoints: string[]): Promise<Record<string, string>> {
  if (endpoints.length === 0) return {}
  const [token, orgCode] = await Promise.all([rpcTokenOf(app, orgId), orgCodeOf(app.db, orgId)])
  return Object.fromEntries(
    endpoints.map((endpoint) => {
      return [rpcVariableName(endpoint), rpcUrlOf(app.config, orgCode, rpcChainOf(endpoint), token)]
    }),
  )
}
