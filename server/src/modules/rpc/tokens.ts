import { createHash, randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { rpcUrlOf } from './chains.ts'
import { addToken, findToken, notify, orgCodeOf, replaceToken, type TokenRow } from './store.ts'

const tokenPrefix = 'shoal_rpc_'

/** Told when an organization's token was replaced; the payload is the organization's id. */
export const rpcTokenChannel = 'shoal_rpc_token'

/** How a token is looked up: it is never kept as it is. */
export const hashOfRpcToken = (token: string): string => createHash('sha256').update(token).digest('hex')

/** Whether it can be one of ours at all; spares the database a look for what cannot be there. */
export const looksLikeRpcToken = (token: string): boolean =>
  token.length === tokenPrefix.length + 32 && token.startsWith(tokenPrefix)

export const rpcTokenContext = (orgId: number) => `rpc-token:${orgId}`

function newToken({ sealer, clock }: App, orgId: number): { token: string; row: TokenRow } {
  const token = `${tokenPrefix}${randomBytes(24).toString('base64url')}`
  const sealed = sealer.seal(token, rpcTokenContext(orgId))
  return { token, row: { orgId, hash: hashOfRpcToken(token), sealed, createdAt: clock.now() } }
}

/** The token of the organization's RPC endpoints; makes one when there is none. */
export async function rpcTokenOf(app: App, orgId: number): Promise<string> {
  const found = (await findToken(app.db, orgId)) ?? (await makeFirst(app, orgId))
  return app.sealer.open(found.sealed, rpcTokenContext(orgId))
}

/** The same without making one; null when nobody has asked for it yet. */
export async function existingRpcToken(app: Pick<App, 'db' | 'sealer'>, orgId: number): Promise<string | null> {
  const found = await findToken(app.db, orgId)
  return found && app.sealer.open(found.sealed, rpcTokenContext(orgId))
}

async function makeFirst(app: App, orgId: number): Promise<TokenRow> {
  await addToken(app.db, newToken(app, orgId).row)
  // Somebody else may have been first: theirs is the one that counts.
  const row = await findToken(app.db, orgId)
  if (!row) throw new Error(`The RPC token of organization ${orgId} was not kept`)
  return row
}

/** A new token; the one before is refused at once by every gateway that is connected to the database. */
export async function refreshRpcToken(app: App, orgId: number): Promise<string> {
  const { token, row } = newToken(app, orgId)
  await app.db.transaction(async (tx) => {
    await replaceToken(tx, row)
    await notify(tx, rpcTokenChannel, String(orgId))
  })
  return token
}

/**
 * What a manifest's rpc addon puts into the environment (contract 4.2): `eth.http` becomes `RPC_ETH_HTTP`, its value an
 * address of the gateway with the organization's token.
 */
export async function rpcVariables(app: App, orgId: number, networks: string[]): Promise<Record<string, string>> {
  if (networks.length === 0) return {}
  const [token, orgCode] = await Promise.all([rpcTokenOf(app, orgId), orgCodeOf(app.db, orgId)])
  return Object.fromEntries(
    networks.map((network) => {
      const chain = network.replace(/[.:]http$/, '')
      return [`RPC_${chain.toUpperCase().replaceAll('-', '_')}_HTTP`, rpcUrlOf(app.config, orgCode, chain, token)]
    }),
  )
}
