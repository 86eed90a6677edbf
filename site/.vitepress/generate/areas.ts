import { contract, openApi } from '@shoal/contract'

const titles: Record<string, string> = {
  auth: 'Sign-in',
  user: 'Account',
  orgs: 'Organizations',
  rpc: 'RPC',
}

const paths = openApi(contract, '')['paths'] as Record<string, Record<string, { tags: string[] }>>
const documented = new Set(
  Object.values(paths).flatMap((methods) => Object.values(methods).flatMap(({ tags }) => tags)),
)

/** The areas of the API with endpoints in the OpenAPI document, in the order of the contract. */
export const apiAreas = Object.keys(contract)
  .filter((name) => documented.has(name))
  .map((name) => ({ name, title: titles[name] ?? name[0]?.toUpperCase() + name.slice(1) }))
