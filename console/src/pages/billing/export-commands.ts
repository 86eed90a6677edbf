/** `erc20-transfers@v1.sql.gz` */
export const exportName = (reference: string): string => `${reference}.sql.gz`

/** Downloads an export and restores it into a Postgres. */
export const exportCommand = (origin: string, code: string, reference: string): string =>
  [
    `curl -f -H 'authorization: token YOUR_API_TOKEN' -o ${exportName(reference)} ${origin}/api/v1/orgs/${code}/squids/${reference}/database/export`,
    `gunzip -c ${exportName(reference)} | psql 'postgres://YOUR_DATABASE'`,
  ].join('\n')
