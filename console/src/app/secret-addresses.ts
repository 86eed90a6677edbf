/** Pages that emails and sign-in providers open with a secret in the path or query string. */
const secretPaths = /^\/(restore\/confirm\/|confirm-email|verify-email|oauth\/)/
const secretParams = ['code', 'state', 'inviteKey', 'acceptInviteId', 'email']

/** Whether an address of the console contains a secret, such as the token of a link that resets a password. */
export const hasSecret = ({ pathname, search }: Pick<Location, 'pathname' | 'search'>): boolean =>
  secretPaths.test(pathname) || secretParams.some((name) => new URLSearchParams(search).has(name))

const secretsInText = [
  /(\/restore\/confirm\/)[^\s"'?#]+/g,
  new RegExp(`([?&](?:${secretParams.join('|')})=)[^&#\\s"']+`, 'g'),
]

/** Returns a copy of a JSON value in which the secrets of addresses are replaced by `…`. */
export function withoutSecrets<T>(value: T): T {
  const redact = (_key: string, part: unknown): unknown =>
    typeof part === 'string' ? secretsInText.reduce((text, secret) => text.replace(secret, '$1…'), part) : part
  return JSON.parse(JSON.stringify(value, redact)) as T
}
