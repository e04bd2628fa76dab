/** The results of commands, made by tests/base/test_results.py. */

/** A topic of a chat; a sticky one has standing instructions and lists them. */
interface TopicResult {
  label: string;
  count: number;
  id?: string;
  parent_id?: string;
  sticky?: boolean;
  message_ids?: string[];
}

interface MoveResult {
  message_ids: string[];
  from: string;
  to: string;
  why: string;
}

/** The price of a request, and of one with all messages, in money. */
interface PriceResult {
  now: number;
  everything: number;
  currency: string;
}

/** The cost of a request in tokens; without `price` if the model's prices are unknown. */
interface CostResult {
  sent: number;
  unchanged: number;
  reread: number;
  saved: number;
  price?: PriceResult;
}

/** The filter of a chat and what follows from it; also sent with `filter_changed`. */
interface FilterResult {
  active_topics: string[];
  message_ids: string[];
  total_messages: number;
  fell_back: boolean;
  status: string;
  short_status: string;
  problem: string;
  threshold: number | null;
  cut: number | null;
  threshold_is_own: boolean;
  pinned: string[];
  hidden: string[];
  sticky: string[];
  kept_by: Record<string, string[]>;
  summed_up: Record<string, number>;
  silent: Record<string, string>;
  role: string;
  undo_steps: number;
  undo_words: string;
  moved: MoveResult[];
  cost?: CostResult;
}

/** The topics of a chat with its filter. */
interface PanelResult {
  active_topics: string[];
  message_ids: string[];
  total_messages: number;
  fell_back: boolean;
  status: string;
  short_status: string;
  problem: string;
  threshold: number | null;
  cut: number | null;
  threshold_is_own: boolean;
  pinned: string[];
  hidden: string[];
  sticky: string[];
  kept_by: Record<string, string[]>;
  summed_up: Record<string, number>;
  silent: Record<string, string>;
  role: string;
  undo_steps: number;
  undo_words: string;
  moved: MoveResult[];
  cost?: CostResult;
  topics: TopicResult[];
  embedding_search: boolean;
}

/** A named context in the list of all. */
interface ContextResult {
  key: string;
  chat_id: string;
  items: number;
  problem: string;
  shared?: boolean;
  person?: string;
}

/** The places of a topic's messages among all messages of a chat, from 0. */
interface PlacesResult {
  id: string;
  label: string;
  places: number[];
}

/** The ids of a chat's messages, and the places of each topic. */
interface TopicMapResult {
  chat_id: string;
  message_ids: string[];
  topics: PlacesResult[];
}

/** The files of one part of a vault that has no name, or of one plugin. */
interface TrustFilesResult {
  name: string;
  is_on: boolean;
  files: string[];
}

/** A part of a vault that needs the user's trust. */
interface TrustPartResult {
  id: string;
  kind: string;
  state: "trusted" | "off" | "changed" | "partly" | "refused";
  title: string;
  warnings: string[];
  does: string;
  groups: TrustFilesResult[];
  refused: string[];
  base_url?: string;
  api_key_env?: string;
  used_for?: string[];
  models?: Record<string, string>;
}

/** The parts of a vault that need the user's trust, each with its state. */
interface TrustResult {
  vault: string;
  digest: string;
  summary: string;
  parts: TrustPartResult[];
}

/** The results of commands, by name. */
interface CommandResults {
  "smart_context.add_topic": PanelResult;
  "smart_context.assign": PanelResult;
  "smart_context.delete_topic": PanelResult;
  "smart_context.get_topics": PanelResult;
  "smart_context.hide": FilterResult;
  "smart_context.merge_topics": PanelResult;
  "smart_context.pin": FilterResult;
  "smart_context.release": FilterResult;
  "smart_context.rename_topic": PanelResult;
  "smart_context.set_filter": FilterResult;
  "smart_context.set_threshold": PanelResult;
  "smart_context.topic_map": TopicMapResult;
  "system.grant_trust": TrustResult;
  "system.revoke_trust": TrustResult;
  "system.trust": TrustResult;
}
