import type { Connection } from './database-access.ts'

/** The placeholder of a hidden password. */
export const hiddenPassword = '••••••••'

/** The kinds of connection texts: the command `psql`, and a URL for JDBC or for libpq. */
export const connectionKinds = ['PSQL', 'JDBC', 'URI'] as const
export type ConnectionKind = (typeof connectionKinds)[number]

/** A connection string or command of this kind. `password` may be `hiddenPassword`. */
export function connectionText(kind: ConnectionKind, connection: Connection, password: string): string {
  const { host, port, database, user } = connection.params
  const { search, protocol, host: address, pathname } = new URL(connection.uri)
  const sslMode = new URLSearchParams(search).get('sslmode')
  const isHidden = password === hiddenPassword
  if (kind === 'PSQL') {
    const variables = [`PGPASSWORD=${isHidden ? password : quoteForShell(password)}`, sslMode && `PGSSLMODE=${sslMode}`]
    return [...variables, 'psql', `-h ${host}`, `-p ${port}`, `-d ${database}`, `-U ${user}`].filter(Boolean).join(' ')
  }
  const secret = isHidden ? password : encodeURIComponent(password)
  if (kind === 'URI') return `${protocol}//${encodeURIComponent(user)}:${secret}@${address}${pathname}${search}`
  const properties = [
    `user=${encodeURIComponent(user)}`,
    `password=${secret}`,
    ...(sslMode ? [`sslmode=${sslMode}`] : []),
  ]
  return `jdbc:postgresql://${address}${pathname}?${properties.join('&')}`
}

/** Quotes the text for a shell, if necessary. */
const quoteForShell = (text: string) =>
  /^[\w.@:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
