/** The steps of both tours, in order (spec 2.4). `onboardingGuide` of the local settings counts the first one's. */
export const firstTour = ['personal_settings', 'api_key', 'org_menu', 'org_settings', 'done'] as const
export const secondTour = ['dashboard', 'quests', 'leaderboard', 'settings', 'quest_rules', 'done'] as const

type Step = (typeof firstTour)[number] | (typeof secondTour)[number]

/** Where a step takes one, wherever one is. */
export const placeOf: Partial<Record<Step, '/settings'>> = { org_settings: '/settings', settings: '/settings' }

export const doneStep = firstTour.indexOf('done')

type ShownStep = { name: (typeof firstTour)[number]; target: string; title: string; text: string }

/** What is shown; the second tour's texts are not given. */
export const shownSteps: readonly ShownStep[] = [
  {
    name: 'personal_settings',
    target: '[data-tour=account]',
    title: 'Account settings',
    text: 'Your name, email, password and sessions are in this menu.',
  },
  {
    name: 'api_key',
    target: '[data-tour=account]',
    title: 'API tokens',
    text: 'The command-line tool signs in with an API token. Create one here, under API tokens.',
  },
  {
    name: 'org_menu',
    target: '[data-tour=organization]',
    title: 'Workspaces',
    text: 'The Playground is yours alone, with one free squid. An Organization is shared with your team and has room for production. Switch between them here.',
  },
  {
    name: 'org_settings',
    target: 'nav a[href="/settings"]',
    title: 'Settings and documentation',
    text: 'Members, names and the organization code live in the settings. Everything else is told in the documentation, just below.',
  },
]
