# A rate limiter for nginx: see `make help`.

NAME := ngx_http_rate_limit_module
BUILD ?= build
DEPS ?= build/deps
PORT ?= 8080
STORE ?= redis
TEST_JOBS ?= 2
CC ?= cc

# The nginx that is matched: as told, else the one built in NGINX_SRC, else the installed one.
system_path := $(PATH):/usr/local/sbin:/usr/sbin
ifneq ($(NGINX),)
nginx := $(abspath $(shell PATH="$(system_path)" command -v "$(NGINX)"))
ifeq ($(nginx),)
$(error NGINX=$(NGINX) is no program)
endif
else ifneq ($(and $(NGINX_SRC),$(wildcard $(NGINX_SRC)/objs/nginx)),)
nginx := $(abspath $(NGINX_SRC)/objs/nginx)
else
nginx := $(abspath $(shell PATH="$(system_path)" command -v nginx))
endif

# hiredis: the system's if it will do, else our own.
ifeq ($(shell pkg-config --atleast-version=1.0.0 hiredis hiredis_ssl 2>/dev/null && echo yes),yes)
hiredis_built :=
hiredis_includes := $(addprefix -isystem ,$(filter-out /usr/include,$(shell pkg-config --variable=includedir hiredis)))
hiredis_libs := $(shell pkg-config --libs hiredis_ssl hiredis)
else
hiredis_built := $(DEPS)/hiredis/lib/libhiredis.a
hiredis_includes := -isystem $(DEPS)/hiredis/include
hiredis_libs := $(DEPS)/hiredis/lib/libhiredis_ssl.a $(hiredis_built)
endif

jobs := $(shell nproc 2>/dev/null || echo 2)
again = $(MAKE) --no-print-directory $(if $(NGINX),NGINX='$(NGINX)')
recurse = $(again) $(if $(findstring j,$(filter-out --%,$(MAKEFLAGS))),,-j$(jobs))

# nginx itself takes a variable of this name for a list of inherited sockets.
unexport NGINX

module := $(BUILD)/$(NAME).so
configured := $(BUILD)/nginx
generated := $(BUILD)/generated
sources := $(wildcard src/core/*.cpp src/redis/*.cpp src/ngx/*.cpp)
headers := $(wildcard src/*/*.h)
scripts := $(patsubst lua/%.lua,$(generated)/%.lua.inc,$(wildcard lua/*.lua))
objects := $(sources:src/%.cpp=$(BUILD)/obj/%.o)
pure_objects := $(filter-out $(BUILD)/obj/ngx/%,$(objects))
unit_sources := $(wildcard t/unit/*.cpp)
unit_objects := $(unit_sources:t/unit/%.cpp=$(BUILD)/unit/%.o)
unit_tests := $(BUILD)/unit/unit_tests

dialect := -std=c++17 -Isrc -I$(generated) $(hiredis_includes)
code := -O2 -g -fPIC -fvisibility=hidden -fstack-protector-strong
warnings := -Wall -Wextra -Werror
compile = $(CXX) $(dialect) $(code) $(warnings) @$(configured)/cc-opt $(CXXFLAGS) -MMD -MP

.PHONY: all module deps hiredis run demo test unit prove bench sanitize lint format-check layer-check tidy install clean \
    distclean help FORCE
.DELETE_ON_ERROR:

all:
	+@$(recurse) module

help:
	@echo 'make            builds $(module), matching nginx -V of $(or $(nginx),nginx)'
	@echo '                NGINX=binary  NGINX_SRC=source tree  BUILD=dir'
	@echo 'make deps       installs or builds what this machine lacks'
	@echo 'make run        a demo on PORT ($(PORT)): two shards of three redis-servers, nginx in front'
	@echo 'make test       unit tests, then real nginx and redis-server processes'
	@echo 'make unit, make prove [T=t/x.t]   one half of it, against what is installed'
	@echo 'make lint       clang-format, clang-tidy, layers'
	@echo 'make install    into the modules directory of nginx (DESTDIR)'
	@echo 'make clean, make distclean   without, with our own build of hiredis'

module: $(module)

$(module): $(objects) $(BUILD)/obj/modules.o $(hiredis_built) $(configured)/key
	$(CXX) -shared -o $@ $(objects) $(BUILD)/obj/modules.o @$(configured)/ld-opt $(LDFLAGS) \
	    -Wl,--exclude-libs,ALL $(hiredis_libs) -lssl -lcrypto

# Touched only when nginx or its flags changed.
$(configured)/key: FORCE
	@mkdir -p $(configured)
	@NGINX_BINARY='$(nginx)' NGINX_SRC='$(NGINX_SRC)' CC='$(CC)' packaging/nginx-configure $(configured)

$(configured)/cc-opt $(configured)/modules.c: $(configured)/key ;

$(BUILD)/obj/modules.o: $(configured)/modules.c $(configured)/key
	@mkdir -p $(@D)
	$(CC) -O2 -g -fPIC -Wall @$(configured)/cc-opt @$(configured)/includes -c -o $@ $<

$(pure_objects): $(BUILD)/obj/%.o: src/%.cpp Makefile $(configured)/cc-opt $(hiredis_built) | $(scripts)
	@mkdir -p $(@D)
	$(compile) -c -o $@ $<

$(BUILD)/obj/ngx/%.o: src/ngx/%.cpp Makefile $(configured)/key $(hiredis_built) | $(scripts)
	@mkdir -p $(@D)
	$(compile) @$(configured)/includes -c -o $@ $<

$(generated)/%.lua.inc: lua/%.lua
	@mkdir -p $(@D)
	{ printf 'R"lua('; cat $<; printf ')lua"\n'; } > $@

hiredis: $(hiredis_built)
	@:

$(DEPS)/hiredis/lib/libhiredis.a:
	packaging/hiredis $(DEPS)/hiredis

deps:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' packaging/deps
	+@$(again) hiredis

run:
	@test '$(STORE)' = redis || { echo 'STORE=$(STORE) is not available yet' >&2; exit 1; }
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' packaging/deps build run
	+@$(recurse) module
	+@exec $(again) demo

# exec: a signal to make must reach the demo, and make must wait for its end.
demo:
	@exec env NGINX_BINARY='$(nginx)' MODULE='$(abspath $(module))' PORT='$(PORT)' packaging/run

test:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' packaging/deps build run test
	+@$(recurse) module $(unit_tests)
	+@$(again) unit
	+@$(again) prove

unit: $(unit_tests)
	$(unit_tests) --gtest_brief=1

$(unit_tests): $(unit_objects) $(pure_objects) $(hiredis_built)
	$(CXX) -o $@ $(unit_objects) $(pure_objects) $(LDFLAGS) $(hiredis_libs) -lssl -lcrypto \
	    -lgtest_main -lgtest -pthread

$(BUILD)/unit/%.o: t/unit/%.cpp Makefile $(configured)/cc-opt $(hiredis_built) | $(scripts)
	@mkdir -p $(@D)
	$(compile) -pthread -c -o $@ $<

prove: $(module)
	TEST_NGINX_BINARY='$(nginx)' TEST_NGINX_MODULE='$(abspath $(module))' PERL5LIB='$(abspath t/lib)' \
	    prove -j$(TEST_JOBS) -r $(or $(T),t)

lint: format-check layer-check
	+@$(recurse) tidy

format-check:
	@NGINX_BINARY='$(NGINX)' NGINX_SRC='$(NGINX_SRC)' packaging/deps build lint
	clang-format --dry-run -Werror $(sources) $(headers) $(unit_sources) $(wildcard t/unit/*.h)

layer-check:
	packaging/layers $(sources) $(headers)

tidy: $(sources:src/%.cpp=$(BUILD)/tidy/%)

$(BUILD)/tidy/%: src/%.cpp $(headers) .clang-tidy Makefile packaging/tidy $(configured)/key $(hiredis_built) | $(scripts)
	@mkdir -p $(@D)
	packaging/tidy $< $(dialect) $(if $(filter src/ngx/%,$<),@$(configured)/includes)
	@touch $@

install: all
	install -d "$(DESTDIR)$$(cat $(configured)/modules-path)"
	install -m 644 $(module) "$(DESTDIR)$$(cat $(configured)/modules-path)/"

bench sanitize:
	@echo 'make $@ is not available yet' >&2
	@exit 1

clean:
	rm -rf $(addprefix $(BUILD)/,obj unit nginx generated tidy) $(module)

distclean: clean
	rm -rf $(DEPS)/hiredis
	for dir in $(DEPS) $(BUILD); do if [ -d "$$dir" ]; then rmdir --ignore-fail-on-non-empty "$$dir"; fi; done

-include $(objects:.o=.d) $(unit_objects:.o=.d)
