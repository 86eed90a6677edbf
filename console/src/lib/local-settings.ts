import { useSyncExternalStore } from 'react'
import { createStore } from './store.ts'

/** Settings in localStorage, under the keys of spec 3. */
export type LocalSettings = {
  /** The session's token. */
  user_token: string | null
  /** Id of the selected organization. */
  userOrg: number | null
  /** Code of the selected organization, for the requests that the head script sends before the session is known. */
  userOrgCode: string | null
  /** Whether the console has checked for invitations in this session. */
  tmp_invites_checked: boolean
  /** The index of the current step of the guided tour. */
  onboardingGuide: number
  theme: 'light' | 'dark'
  /** Whether keys without a modifier, such as `/` and `g s`, are shortcuts. */
  singleKeys: boolean
}

const defaults: LocalSettings = {
  user_token: null,
  userOrg: null,
  userOrgCode: null,
  tmp_invites_checked: false,
  onboardingGuide: 0,
  theme: 'light',
  singleKeys: true,
}

const isValid: { [K in keyof LocalSettings]: (value: unknown) => value is LocalSettings[K] } = {
  user_token: (value): value is string => typeof value === 'string',
  userOrg: (value): value is number => typeof value === 'number',
  userOrgCode: (value): value is string => typeof value === 'string',
  tmp_invites_checked: (value): value is boolean => typeof value === 'boolean',
  onboardingGuide: (value): value is number => typeof value === 'number',
  theme: (value): value is 'light' | 'dark' => value === 'light' || value === 'dark',
  singleKeys: (value): value is boolean => typeof value === 'boolean',
}

/** Settings that are stored as plain text, not as JSON. */
const textKeys: string[] = ['user_token', 'userOrgCode', 'theme']

/** Settings that a logout keeps. */
const keptOnLogout = ['theme', 'singleKeys']

/** The number of changes in this tab. */
const changes = createStore(0)
const recordChange = () => changes.set(changes.get() + 1)

/** The stored value, or the default if it is missing or invalid. */
export function getSetting<K extends keyof LocalSettings>(key: K): LocalSettings[K] {
  const text = localStorage.getItem(key)
  if (text === null) return defaults[key]
  const value = textKeys.includes(key) ? text : parseJson(text)
  return isValid[key](value) ? value : defaults[key]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Stores a setting; null removes it. */
export function setSetting<K extends keyof LocalSettings>(key: K, value: LocalSettings[K]): void {
  if (value === null) localStorage.removeItem(key)
  else localStorage.setItem(key, String(value))
  recordChange()
}

/** Removes all settings except the theme and the choice of shortcuts, at a logout (spec 4). */
export function clearSession(): void {
  for (const key of Object.keys(defaults)) if (!keptOnLogout.includes(key)) localStorage.removeItem(key)
  recordChange()
}

/** Subscribes to changes in this tab and in others. Returns a function that unsubscribes. */
export function onSettingChange(listener: () => void): () => void {
  const unsubscribe = changes.subscribe(listener)
  window.addEventListener('storage', listener)
  return () => {
    unsubscribe()
    window.removeEventListener('storage', listener)
  }
}

/** The value of a setting as React state. */
export function useSetting<K extends keyof LocalSettings>(key: K): LocalSettings[K] {
  return useSyncExternalStore(onSettingChange, () => getSetting(key))
}
