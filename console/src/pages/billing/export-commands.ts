/** The file name of an export, such as `erc20-transfers@v1.sql.gz`. */
export const exportName = (reference: string): string => `${reference}.sql.gz`

/** Shell commands that download an export and restore it into a Postgres database. */
export const exportCommand = (origin: string, code: string, reference: string): string =>
  [
    `curl -f -H 'authorization: token YOUR_API_TOKEN' -o ${exportName(reference)} ${origin}/api/v1/orgs/${code}/squids/${reference}/database/export`,
    `gunzip -c ${exportName(reference)} | psql 'postgres://YOUR_DATABASE'`,
  ].join('\n')
