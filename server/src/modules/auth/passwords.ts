import { hash, verify } from '@node-rs/argon2'

/** Argon2id with OWASP's parameters: 19 MiB, two passes, one lane. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hashPassword = (password: string): Promise<string> => hash(password, parameters)

const dummyHash = hashPassword('a password without an account')

/** Whether the password matches the hash. Takes the same time if the account has no password or does not exist. */
export async function verifyPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  const isMatch = await verify(passwordHash ?? (await dummyHash), password)
  return isMatch && Boolean(passwordHash)
}
