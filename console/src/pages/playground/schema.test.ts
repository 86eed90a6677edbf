import { expect, test } from 'vitest'
import { buildSchema, graphqlSync } from 'graphql'
import { graphqlRecipes } from './recipes.ts'
import { exampleQuery, introspectionQuery, schemaOf, searchTypes, typeText } from './schema.ts'

const source = buildSchema(`
  "A transfer of a token"
  type Transfer { id: ID! from: Account! amount: Int! tags: [String!]! kind: Kind }
  type Account { id: ID! transfers(limit: Int): [Transfer!]! }
  enum Kind { MINT BURN }
  input TransferWhere { id_eq: ID }
  type Query {
    transferById(id: ID!): Transfer
    transfers(where: TransferWhere, limit: Int): [Transfer!]!
  }
`)
const response = graphqlSync({ schema: source, source: introspectionQuery }) as Record<string, unknown>
const schema = schemaOf(response)
const names = (search: string) => searchTypes(schema.types, search).map(({ name }) => name)

test('types are ordered: the operations, then objects, enums, inputs and scalars, each by name', () => {
  expect(names('')).toEqual(['Query', 'Account', 'Transfer', 'Kind', 'TransferWhere', 'Boolean', 'ID', 'Int', 'String'])
  const transfer = schema.types.find(({ name }) => name === 'Transfer')
  expect(transfer?.description).toBe('A transfer of a token')
  expect(transfer?.fields.map(({ type }) => typeText(type))).toEqual(['ID!', 'Account!', 'Int!', '[String!]!', 'Kind'])
})

test('the search lists types whose name matches before those with a field, argument or value that matches', () => {
  expect(names('transfer')).toEqual(['Transfer', 'TransferWhere', 'Query', 'Account'])
  expect(names('burn')).toEqual(['Kind'])
  expect(names('LIMIT')).toEqual(['Query', 'Account'])
  expect(names('nothing like it')).toEqual([])
})

test('the example is a query that the API accepts, and the recipes contain it', () => {
  const query = exampleQuery(schema)
  expect(query).toBe('{\n  transfers(limit: 10) {\n    id\n    amount\n    tags\n  }\n}')
  const rootValue = { transfers: () => [{ id: 1, amount: 2, tags: [] }] }
  expect(graphqlSync({ schema: source, source: query, rootValue }).errors).toBeUndefined()
  const url = 'https://x.example/graphql'
  const codes = graphqlRecipes(url, query).map(({ code }) => code)
  expect(codes.every((code) => code.includes(url) && code.includes('transfers(limit: 10)'))).toBe(true)
  expect(exampleQuery(schemaOf({ data: { __schema: { types: [], queryType: null } } }))).toContain('__typename')
})

test('the error contains the API’s reason for rejecting introspection', () => {
  expect(() => schemaOf({ errors: [{ message: 'Introspection is off' }] })).toThrow('Introspection is off')
  expect(() => schemaOf({})).toThrow('returned no schema')
})
