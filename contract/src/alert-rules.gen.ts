// Generated from the alert rules of the server (`server/src/modules/observing/rules/`) by `npm run check -- --write`; do not edit by hand.
import type { AlertRuleTexts } from './alert-rules.ts'

export const alertRuleTexts = {
  CRASH_LOOP: {
    title: 'Crash loop',
    explanation: 'A program repeatedly ends with an error.',
    threshold: null,
  },
  OUT_OF_MEMORY: {
    title: 'Out of memory',
    explanation: 'A program used more memory than its profile allows and was stopped.',
    threshold: null,
  },
  DISK_FULL: {
    title: 'Out of disk space',
    explanation: 'A program has used all of the disk space it may use for files.',
    threshold: null,
  },
  SOURCE_SILENT: {
    title: 'Data source silent',
    explanation: 'A processor runs but does not begin to index, because its data source does not respond.',
    threshold: null,
  },
  STALLED: {
    title: 'No progress',
    explanation:
      'A processor makes no progress although its chain continues, or its metrics or its data source have stopped responding.',
    threshold: {
      unit: 'minutes',
      initial: 5,
      min: 1,
      max: 1440,
    },
  },
  LAGGING: {
    title: 'Behind the chain',
    explanation:
      'A processor that had caught up is behind the head of its chain by more blocks than this, for two minutes.',
    threshold: {
      unit: 'blocks',
      initial: 500,
      min: 10,
      max: 10000000,
    },
  },
  WRONG_SYNCED: {
    title: 'Falsely reported as synced',
    explanation:
      'A processor reports that it has caught up, but the independently observed head of its chain is far ahead.',
    threshold: null,
  },
  FROZEN_HEAD: {
    title: 'Frozen head',
    explanation: 'The data source of a processor shows no new blocks.',
    threshold: {
      unit: 'minutes',
      initial: 10,
      min: 2,
      max: 1440,
    },
  },
  API_DOWN: {
    title: 'API down',
    explanation: 'The API of a version has not responded for a minute.',
    threshold: null,
  },
  API_SLOW: {
    title: 'API slow',
    explanation:
      'The 95th percentile of the latency of successful requests in the last five minutes is above this. Needs at least 20 requests.',
    threshold: {
      unit: 'ms',
      initial: 2000,
      min: 50,
      max: 60000,
    },
  },
  LOW_SPACE: {
    title: 'Database space',
    explanation: 'A database has almost no disk space left, or none.',
    threshold: null,
  },
  DEPLOY_FAILED: {
    title: 'Deployment failed',
    explanation: 'The last deployment of a version ended with an error.',
    threshold: null,
  },
  QUOTA_NEAR: {
    title: 'Quota almost used up',
    explanation: 'This share of a spend cap, an RPC cap or a playground’s RPC requests has been used.',
    threshold: {
      unit: 'percent',
      initial: 90,
      min: 50,
      max: 100,
    },
  },
  PAYMENT: {
    title: 'Payment problem',
    explanation: 'A payment failed, or the organization is in debt.',
    threshold: null,
  },
} satisfies Record<string, AlertRuleTexts>
