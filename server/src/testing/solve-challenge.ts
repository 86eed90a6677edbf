import { solveChallenge, type Challenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import type { TestApp } from './test-app.ts'

/** Does the work of the bot check as a browser would; answers what goes into `turnstileToken`. */
export async function solvedChallenge(t: Pick<TestApp, 'http'>): Promise<string> {
  const answer = await t.http.inject('/api/v1/auth/challenge')
  const challenge = answer.json<Challenge>()
  const solution = await solveChallenge({ challenge, deriveKey })
  return Buffer.from(JSON.stringify({ challenge, solution })).toString('base64')
}
