import { buildSchema, graphql } from 'graphql'
import type { Page } from 'playwright-core'

const schema = buildSchema(`
  "A transfer of a token between two accounts"
  type Transfer { id: ID! block: Int! "Sender" from: Account! to: Account! amount: BigInt! kind: Kind }
  type Account { id: ID! transfers(limit: Int): [Transfer!]! }
  "Integers of any size, as strings"
  scalar BigInt
  enum Kind { TRANSFER MINT BURN }
  input TransferWhere { id_eq: ID amount_gte: BigInt }
  type Query {
    transferById(id: ID!): Transfer
    transfers(where: TransferWhere, limit: Int, offset: Int): [Transfer!]!
    accounts(limit: Int): [Account!]!
  }
`)

/** Responds to the page's queries to the APIs of squids, because simulated squids have no GraphQL schema. */
export const answerGraphql = (page: Page): Promise<unknown> =>
  page.route('**/api/graphql', async (route) => {
    const { query } = route.request().postDataJSON() as { query: string }
    await route.fulfill({
      json: await graphql({ schema, source: query }),
      headers: { 'access-control-allow-origin': '*' },
    })
  })
