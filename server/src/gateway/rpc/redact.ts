import type { UpstreamSettings } from '../../modules/rpc/index.ts'
import type { RpcError } from './json-rpc.ts'

/** Shorter parts of an address are words such as `rpc` or `v2`, not keys. */
const minKey = 8

/** Takes a node's address and keys out of what it says. Nodes like to quote them: "see https://…/<key>". */
export function redactor({ url, headers }: Pick<UpstreamSettings, 'url' | 'headers'>): (error: RpcError) => RpcError {
  const { host, hostname, pathname, search, username, password } = new URL(url)
  const parts = [
    host,
    hostname,
    username,
    password,
    ...pathname.split('/'),
    ...search.split(/[?&=]/),
    ...Object.values(headers).flatMap((value) => [value, ...value.split(' ')]),
  ]
  const secrets = [...new Set(parts.flatMap((part) => [part, decoded(part)]))]
    .filter((part) => part.length >= minKey)
    .sort((a, b) => b.length - a.length)
  const clean = (text: string) =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text.replaceAll(/\b(?:https?|wss?):\/\/\S+/g, '…'))
  return ({ code, message, data }) => ({
    code,
    message: clean(message),
    ...(data === undefined ? {} : { data: JSON.parse(clean(JSON.stringify(data))) as unknown }),
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
