import type acme from 'acme-client'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import type { App } from '../../app.ts'
import { insertAccount, selectAccountKey } from './store.ts'

export type AuthorityApp = Pick<App, 'db' | 'sealer' | 'config' | 'clock'>

export const accountContext = (directoryUrl: string): string => `acme account ${directoryUrl}`

/** Loads the library when it is needed: most installations and all commands never need it. */
export const loadAcme = async (): Promise<typeof acme> => (await import('acme-client')).default

const requestMs = 30_000

/** Loads the library with the timeouts and the root certificate with which it connects to the authority. */
export async function loadAcmeFor({ config }: Pick<App, 'config'>): Promise<typeof acme> {
  const library = await loadAcme()
  const caFile = config.SHOAL_ACME_CA_FILE
  Object.assign(library.axios.defaults, {
    timeout: requestMs,
    // A failed request is retried later, with all its steps.
    acmeSettings: { retryMaxAttempts: 1, retryDefaultDelay: 1 },
    proxy: false,
    ...(caFile === undefined ? {} : { httpsAgent: new Agent({ ca: await readFile(caFile), keepAlive: false }) }),
  })
  return library
}

/** Opens the account of this installation, which is created when it is needed for the first time. */
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

/** Finds or creates the account of the client's key. The library updates an existing one, and authorities refuse an update without an address. */
async function useAccount(client: acme.Client, email: string | undefined): Promise<void> {
  if (email !== undefined)
    return void (await client.createAccount({ termsOfServiceAgreed: true, contact: [`mailto:${email}`] }))
  // If the authority does not respond, the second call rejects with the cause.
  const exists = await client.createAccount({ onlyReturnExisting: true }).then(
    () => true,
    () => false,
  )
  if (!exists) await client.createAccount({ termsOfServiceAgreed: true })
}
