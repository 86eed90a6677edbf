import { contract } from '@shoal/contract'

const titles: Record<string, string> = {
  auth: 'Sign-in',
  user: 'Account',
  orgs: 'Organizations',
  rpc: 'RPC',
}

/** The areas of the API, in the order of the contract. */
export const apiAreas = Object.keys(contract).map((name) => ({
  name,
  title: titles[name] ?? name[0]?.toUpperCase() + name.slice(1),
}))
