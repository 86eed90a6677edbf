import type acme from 'acme-client'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import type { App } from '../../app.ts'
import { insertAccount, selectAccountKey } from './store.ts'

export type AuthorityApp = Pick<App, 'db' | 'sealer' | 'config' | 'clock'>

/** The context with which the key of an account is sealed. */
export const accountContext = (directoryUrl: string): string => `acme account ${directoryUrl}`

/** Loads the library on first use, because most installations and all commands do not need it. */
export const loadAcme = async (): Promise<typeof acme> => (await import('acme-client')).default

const requestTimeoutMs = 30_000

/** Loads the library, and sets the timeout and the root certificate of its requests to the authority. */
export async function loadAcmeFor({ config }: Pick<App, 'config'>): Promise<typeof acme> {
  const library = await loadAcme()
  const caFile = config.SHOAL_ACME_CA_FILE
  Object.assign(library.axios.defaults, {
    timeout: requestTimeoutMs,
    // The library must not retry a failed request, because Shoal retries the whole order later.
    acmeSettings: { retryMaxAttempts: 1, retryDefaultDelay: 1 },
    proxy: false,
    ...(caFile === undefined ? {} : { httpsAgent: new Agent({ ca: await readFile(caFile), keepAlive: false }) }),
  })
  return library
}

/** Returns a client that uses this installation's account at the authority. Creates the account on first use. */
export async function openAccount(app: AuthorityApp): Promise<acme.Client> {
  const { db, sealer, config, clock } = app
  const library = await loadAcmeFor(app)
  const directoryUrl = config.SHOAL_ACME_DIRECTORY_URL
  const context = accountContext(directoryUrl)
  if ((await selectAccountKey(db, directoryUrl)) === null) {
    const newKey = (await library.crypto.createPrivateEcdsaKey()).toString()
    await insertAccount(db, { directoryUrl, sealedKey: sealer.seal(newKey, context), createdAt: clock.now() })
  }
  // Read again, since another process may have saved its key first.
  const sealedKey = (await selectAccountKey(db, directoryUrl)) ?? ''
  const client = new library.Client({
    directoryUrl,
    accountKey: sealer.open(sealedKey, context),
    backoffMin: 250,
    backoffMax: 8_000,
    backoffAttempts: 15,
  })
  await useAccount(client, config.SHOAL_ACME_EMAIL)
  return client
}

/**
 * Finds or creates the account of the client's key. `createAccount` also updates an existing account, and authorities reject an
 * update without an email.
 */
async function useAccount(client: acme.Client, email: string | undefined): Promise<void> {
  if (email !== undefined)
    return void (await client.createAccount({ termsOfServiceAgreed: true, contact: [`mailto:${email}`] }))
  if (await hasAccount(client)) return
  try {
    await client.createAccount({ termsOfServiceAgreed: true })
  } catch (error) {
    // A concurrent order may have created it. If the authority does not respond, the caller gets the cause.
    if (!(await hasAccount(client))) throw error
  }
}

const hasAccount = async (client: acme.Client): Promise<boolean> =>
  await client.createAccount({ onlyReturnExisting: true }).then(
    () => true,
    () => false,
  )
