import { hash, verify } from '@node-rs/argon2'

/** Argon2id with OWASP's parameters: 19 MiB, two passes, one lane. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hashPassword = (password: string): Promise<string> => hash(password, parameters)

const dummyHash = hashPassword('a password of no account')

/** Takes equally long for accounts with a password, without one, and for no account. */
export async function isPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  const isRight = await verify(passwordHash ?? (await dummyHash), password)
  return isRight && Boolean(passwordHash)
}
