import { oauthProviders, type EndedCredentials, type OauthProvider } from '@shoal/contract'
import type { Db } from '../../db/database.ts'
import { deleteAddressesOf, deleteIdentitiesOf, listProviders } from './account-store.ts'
import { deleteApiTokensOf, endSessionsOf } from './store.ts'

/** The credentials that stay valid. */
type KeptCredentials = {
  /** The session that continues. */
  sessionId?: string | undefined
  apiTokens?: boolean
  /** Sign-in with Google or GitHub. An unlinked provider is linked again at the next sign-in if it confirms the same email. */
  providers?: boolean
}

/**
 * Revokes all credentials of an account other than its password, except those in `kept`, because an attacker may own them. Returns the
 * revoked credentials.
 */
export async function endCredentials(tx: Db, userId: number, kept: KeptCredentials): Promise<EndedCredentials> {
  const sessions = await endSessionsOf(tx, userId, kept.sessionId)
  const apiTokens = kept.apiTokens ? [] : await deleteApiTokensOf(tx, userId)
  const providers = kept.providers ? [] : await deleteIdentitiesOf(tx, userId)
  // Known addresses have their own limit for failed sign-ins, which an attacker must not keep.
  await deleteAddressesOf(tx, userId)
  return { sessions, apiTokens, providers: providers.filter(isProvider) }
}

/** Returns the providers with which the user can sign in to the account. */
export const providersOf = async (db: Db, userId: number): Promise<OauthProvider[]> =>
  (await listProviders(db, userId)).filter(isProvider)

const isProvider = (name: string): name is OauthProvider => (oauthProviders as readonly string[]).includes(name)
