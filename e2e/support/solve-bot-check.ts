import { pbkdf2Sync } from 'node:crypto'
import type { RunningShoal } from './shoal.ts'

type Challenge = { parameters: { nonce: string; salt: string; cost: number; keyLength?: number; keyPrefix: string } }

/**
 * Solves a new challenge of the bot check, as the sign-up page does, and returns the solution: the first counter for which the key that
 * PBKDF2 with SHA-256 derives from the nonce and the counter begins with the prefix.
 */
export async function solveBotCheck({ url }: Pick<RunningShoal, 'url'>): Promise<string> {
  const challenge = (await (await fetch(`${url}/api/v1/auth/challenge`)).json()) as Challenge
  const { nonce, salt, cost, keyLength = 32, keyPrefix } = challenge.parameters
  const password = Buffer.concat([Buffer.from(nonce, 'hex'), Buffer.alloc(4)])
  for (let counter = 0; ; counter++) {
    password.writeUInt32BE(counter, password.length - 4)
    const derivedKey = pbkdf2Sync(password, Buffer.from(salt, 'hex'), cost, keyLength, 'sha256').toString('hex')
    if (derivedKey.startsWith(keyPrefix))
      return Buffer.from(JSON.stringify({ challenge, solution: { counter, derivedKey } })).toString('base64')
  }
}
